package pipelinetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	replicaPage = 1000        // how many messages one question asks for
	handover    = time.Second // how long a change of leader may take before it is asked for again
)

// Held is a message as one server holds it.
type Held struct {
	Sequence uint64
	Subject  string
	ID       string   // Nats-Msg-Id
	Digest   [32]byte // SHA-256 of the body
}

// Replica reads a whole stream by direct gets through the server's own client port.
// Any server that holds the stream may answer them, so the others must be down if it
// is to be this one; and only a leader is sure to answer ([Node.Lead]), others begin
// to a while after their start.
func (n *Node) Replica(ctx context.Context, stream string) ([]Held, error) {
	nc, err := nats.Connect(n.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	defer nc.Close()
	state, err := n.State(ctx, stream)
	if err != nil {
		return nil, err
	}
	var all []Held
	for next := state.FirstSeq; next <= state.LastSeq; next = all[len(all)-1].Sequence + 1 {
		page, err := directPage(ctx, nc, stream, next)
		if err != nil {
			return nil, fmt.Errorf("%s: stream %s from %d: %w", n.Name, stream, next, err)
		}
		all = append(all, page...)
	}
	return all, nil
}

// directPage returns the next messages from a sequence on, at least one.
func directPage(ctx context.Context, nc *nats.Conn, stream string, from uint64) ([]Held, error) {
	ctx, cancel := context.WithTimeout(ctx, containerLimit)
	defer cancel()
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	question := fmt.Appendf(nil, `{"seq":%d,"batch":%d}`, from, replicaPage)
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, question); err != nil {
		return nil, err
	}
	var page []Held
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		if status := m.Header.Get("Status"); status != "" {
			if status != "204" || len(page) == 0 { // 204 ends the page
				return nil, fmt.Errorf("status %s %s", status, m.Header.Get("Description"))
			}
			return page, nil
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return nil, errors.Join(errors.New("no sequence"), err)
		}
		page = append(page, Held{
			Sequence: seq, Subject: m.Header.Get(jetstream.SubjectHeader), ID: m.Header.Get(jetstream.MsgIDHeader),
			Digest: sha256.Sum256(m.Data),
		})
	}
}

// Lead makes the server the leader of a stream and returns when it is.
func (n *Node) Lead(tb testing.TB, stream string) {
	tb.Helper()
	nc, err := nats.Connect(n.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer nc.Close()
	question := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, n.Name)
	await(tb, clusterLimit, func(ctx context.Context) error {
		d, err := n.stream(ctx, stream)
		if err != nil || d.Cluster.Leader == n.Name {
			return err
		}
		answer, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, question, monitorLimit)
		if err == nil {
			err = fmt.Errorf("%s does not lead stream %s: %s", n.Name, stream, answer.Data)
		}
		select {
		case <-time.After(handover):
		case <-ctx.Done():
		}
		return err
	})
}
