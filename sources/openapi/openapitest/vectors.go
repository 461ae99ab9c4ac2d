// Package openapitest holds what the tests of both sides of the network's
// protocol share. The binary never imports it.
package openapitest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"testing"
)

//go:embed sign-vectors.jsonl
var file []byte

// Vector is a signature computed with PHP 8.2, a line of sign-vectors.jsonl.
type Vector struct {
	Name      string // what is special about it
	Variant   string // "plain" or "hex_amp"
	Secret    string // App Secret
	Path      string // "/{APP_KEY}/{SERVICE_NAME}"
	Body      string // as posted, Sign included
	Canonical string // what is signed, between path and secret
	Sign      string // the signature
}

// HexAmp reports whether "&" was signed as \u0026.
func (v Vector) HexAmp() bool { return v.Variant == "hex_amp" }

// Vectors returns all of them.
func Vectors(tb testing.TB) []Vector {
	tb.Helper()
	var all []Vector
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		var v Vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		tb.Fatal("no vectors")
	}
	return all
}
