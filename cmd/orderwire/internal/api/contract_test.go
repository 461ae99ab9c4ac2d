package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
)

// contract is the served document, which requests and answers are held to.
type contract struct {
	doc    *openapi3.T
	router routers.Router
}

var theContract = sync.OnceValues(func() (*contract, error) {
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/openapi.yaml", http.NoBody)
	api.New(api.Config{Line: &fake{}}).ServeHTTP(rec, req)
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(req.Context()); err != nil {
		return nil, err
	}
	doc.Servers = nil // the document's stands for any address
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				for _, media := range response.Value.Content {
					seal(media.Schema.Value)
				}
			}
		}
	}
	router, err := gorillamux.NewRouter(doc)
	return &contract{doc: doc, router: router}, err
})

// seal makes an answer have no field but the document's. The document does not say
// so, because clients have to ignore new fields.
func seal(s *openapi3.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = openapi3.BoolSchema{Has: new(bool)}
	}
	for _, property := range s.Properties {
		seal(property.Value)
	}
	if s.Items != nil {
		seal(s.Items.Value)
	}
	for _, one := range s.OneOf {
		seal(one.Value)
	}
}

func loadContract(tb testing.TB) *contract {
	tb.Helper()
	c, err := theContract()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// check returns what is wrong with an answer, and with its request when it was
// taken.
func (c *contract) check(tb testing.TB, req *http.Request, rec *httptest.ResponseRecorder) error {
	tb.Helper()
	route, path, err := c.router.FindRoute(req)
	if err != nil {
		return err
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: path, Route: route,
		Options: &openapi3filter.Options{
			SkipSettingDefaults: true, IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	}
	if rec.Code/100 == 2 {
		if err := openapi3filter.ValidateRequest(tb.Context(), in); err != nil {
			return err
		}
	}
	return openapi3filter.ValidateResponse(tb.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())), Options: in.Options,
	})
}

// The document has each operation of the service, and no other one.
func TestDocumentHasEveryOperation(t *testing.T) {
	t.Parallel()
	told := make(map[[2]string]bool)
	for path, item := range loadContract(t).doc.Paths.Map() {
		for method := range item.Operations() {
			told[[2]string{method, path}] = true
		}
	}
	all := api.Operations()
	for _, path := range api.Outside() {
		all = append(all, [2]string{http.MethodGet, path})
	}
	for _, o := range all {
		if !told[o] {
			t.Errorf("%s is not in the document", strings.Join(o[:], " "))
		}
		delete(told, o)
	}
	for o := range told {
		t.Errorf("%s is in the document only", strings.Join(o[:], " "))
	}
}
