package poller

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// errNoOrder marks a record that is no JSON object with an order number.
var errNoOrder = errors.New("record is no order")

// glance is what has to be known of a record before anything is decoded.
type glance struct {
	programID, orderSn string
	details            bool // it has a list of lines
}

// peek reads a record's key and whether it has lines, and skips the rest. The
// error wraps errNoOrder and quotes nothing of the record.
func peek(raw []byte) (glance, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return glance{}, fmt.Errorf("%w: not a JSON object", errNoOrder)
	}
	var g glance
	if _, err := dec.ReadToken(); err != nil {
		return glance{}, broken(dec)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return glance{}, broken(dec)
		}
		if err := g.member(dec, name.String()); err != nil {
			return glance{}, broken(dec)
		}
	}
	if g.orderSn == "" {
		return glance{}, fmt.Errorf("%w: OrderSn is missing", errNoOrder)
	}
	return g, nil
}

func (g *glance) member(dec *jsontext.Decoder, name string) error {
	switch name {
	case "ProgramId", "OrderSn":
		return g.keyPart(dec, name)
	case "Details":
		g.details = dec.PeekKind() == '['
	}
	return dec.SkipValue()
}

func (g *glance) keyPart(dec *jsontext.Decoder, name string) error {
	kind := dec.PeekKind()
	if kind != '"' && kind != '0' {
		return dec.SkipValue()
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if name == "OrderSn" {
		g.orderSn = tok.String()
	} else {
		g.programID = tok.String()
	}
	return nil
}

func broken(dec *jsontext.Decoder) error {
	return fmt.Errorf("%w: broken at byte %d", errNoOrder, dec.InputOffset())
}
