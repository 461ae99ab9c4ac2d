package network_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

const documentFile = "../../schema/openapi.yaml"

// contract is the OpenAPI document, which requests and answers are held to.
type contract struct {
	doc    *openapi3.T
	router routers.Router
}

// loadDocument reads the document, which has to be valid.
func loadDocument(tb testing.TB) *openapi3.T {
	tb.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(documentFile)
	if err != nil {
		tb.Fatal(err)
	}
	if err := doc.Validate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return doc
}

func loadContract(tb testing.TB) *contract {
	tb.Helper()
	doc := loadDocument(tb)
	doc.Servers = nil // the document's stands for any address
	c := &contract{doc: doc}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			c.seal(operation)
		}
	}
	var err error
	if c.router, err = gorillamux.NewRouter(doc); err != nil {
		tb.Fatal(err)
	}
	return c
}

// seal makes the answers of an operation have no field but the document's.
// The document does not say so, because clients have to ignore new fields.
func (c *contract) seal(operation *openapi3.Operation) {
	for _, response := range operation.Responses.Map() {
		for _, media := range response.Value.Content {
			sealSchema(media.Schema.Value)
		}
	}
}

func sealSchema(s *openapi3.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = openapi3.BoolSchema{Has: new(bool)}
	}
	for _, property := range s.Properties {
		sealSchema(property.Value)
	}
	for _, one := range s.OneOf {
		sealSchema(one.Value)
	}
	if s.Items != nil {
		sealSchema(s.Items.Value)
	}
}

// input finds the operation of a request.
func (c *contract) input(tb testing.TB, req *http.Request) *openapi3filter.RequestValidationInput {
	tb.Helper()
	route, path, err := c.router.FindRoute(req)
	if err != nil {
		tb.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return &openapi3filter.RequestValidationInput{
		Request: req, PathParams: path, Route: route,
		Options: &openapi3filter.Options{SkipSettingDefaults: true, IncludeResponseStatus: true},
	}
}

// request returns what is wrong with a request. Its body can be sent
// afterwards.
func (c *contract) request(tb testing.TB, req *http.Request) error {
	tb.Helper()
	return openapi3filter.ValidateRequest(tb.Context(), c.input(tb, req))
}

// response returns what is wrong with the answer to a request.
func (c *contract) response(tb testing.TB, req *http.Request, a answer) error {
	tb.Helper()
	return openapi3filter.ValidateResponse(tb.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.input(tb, req), Status: a.HTTP, Header: a.header,
		Body: io.NopCloser(bytes.NewReader(a.body)), Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}
