package jetstream_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Watermill's own suite in its short form, on a server of its own.
func TestContainerPubSub(t *testing.T) {
	t.Parallel()
	url, _ := pipelinetest.ContainerNATS(t)
	pipelinetest.Log(t, url)
	testPubSub(t, url, true)
}

// The stress variant, in the mode that most services use.
func TestContainerPubSubStress(t *testing.T) {
	t.Parallel()
	url, _ := pipelinetest.ContainerNATS(t)
	pipelinetest.Log(t, url)
	v := variants()["explicit"]
	v.features.ForceShort = true
	p := pair{url: url, cfg: v.cfg}
	tests.TestPubSubStressTest(t, v.features, p.shared, p.open)
}
