package archive

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

const (
	s3Scheme = "s3://"
	// s3Attempts is how often a request is tried, with pauses that grow to s3Pause:
	// some ten seconds in all. Then the sink says so, and its runner tries again.
	s3Attempts = 8
	s3Pause    = 2 * time.Second
	// s3Silence is how long a store may take to answer a request that it has.
	s3Silence = time.Minute
)

// s3Address is s3://bucket/prefix?region=…&endpoint=….
type s3Address struct {
	bucket   string
	prefix   string // without slashes at its ends, may be empty
	query    string // as it was given
	region   string // empty: as the environment says
	endpoint string // empty: Amazon's
}

// CheckAddress returns a [ConfigError] for an address that no archive can have.
// A folder always can.
func CheckAddress(address string) error {
	if !strings.HasPrefix(address, s3Scheme) {
		return nil
	}
	_, err := parseS3Address(address)
	return err
}

// parseS3Address never quotes the address in an error: it may hold a secret.
func parseS3Address(address string) (*s3Address, error) {
	refused := func(problem, hint string) (*s3Address, error) {
		return nil, &ConfigError{"url", problem, hint}
	}
	u, err := url.Parse(address)
	if err != nil {
		return refused("is no address", "write s3://bucket/prefix?region=eu-central-1")
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil || u.Fragment != "":
		return refused("has parameters that cannot be read", "write s3://bucket/prefix?region=eu-central-1")
	case u.User != nil:
		return refused("holds credentials", "take them out; they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or the machine's role")
	case u.Host == "" || u.Port() != "":
		return refused("names no bucket", "write s3://bucket/prefix, and another store than Amazon's as ?endpoint=https://host:port")
	}
	for key, values := range query {
		if key != "region" && key != "endpoint" || len(values) != 1 {
			return refused("has a parameter other than one region and one endpoint",
				"take it out; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or the machine's role")
		}
	}
	if endpoint := query.Get("endpoint"); endpoint != "" {
		e, err := url.Parse(endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" {
			return refused("has an endpoint that is no http or https address", "write endpoint=https://host:port, without credentials")
		}
	}
	return &s3Address{
		bucket: u.Host, prefix: strings.Trim(u.Path, "/"), query: u.RawQuery,
		region: query.Get("region"), endpoint: query.Get("endpoint"),
	}, nil
}

// join returns the address of a name below the prefix.
func (a *s3Address) join(name string) string {
	u := url.URL{Scheme: "s3", Host: a.bucket, Path: "/" + strings.TrimPrefix(a.prefix+"/"+name, "/"), RawQuery: a.query}
	return u.String()
}

// key returns the key of a name below the prefix.
func (a *s3Address) key(name string) string {
	if a.prefix == "" {
		return name
	}
	return a.prefix + "/" + name
}

// open makes the client. It asks the store nothing yet.
func (a *s3Address) open(ctx context.Context) (*bucket, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = s3Attempts, s3Pause })
		}),
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = s3Silence
		})),
	}
	if a.region != "" {
		options = append(options, awsconfig.WithRegion(a.region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, s3Error("open", a.join(""), err)
	}
	if cfg.Region == "" {
		if a.endpoint == "" {
			return nil, &ConfigError{"url", "names no region", "write s3://bucket/prefix?region=eu-central-1, or set AWS_REGION"}
		}
		cfg.Region = "us-east-1" // which other stores expect
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = aws.String(a.endpoint), true
		}
	})
	opened, err := s3blob.OpenBucket(ctx, client, a.bucket, nil)
	if err != nil {
		return nil, s3Error("open", a.join(""), err)
	}
	if a.prefix != "" {
		opened = blob.PrefixedBucket(opened, a.prefix+"/")
	}
	return &bucket{at: a, bucket: opened}, nil
}
