package schema

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// unmarshalWith runs a streaming decoder over one whole JSON value, for the
// benefit of encoding/json.
func unmarshalWith(b []byte, from func(*jsontext.Decoder) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if err := from(dec); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &jsontext.SyntacticError{Err: errTrailing}
	}
	return nil
}
