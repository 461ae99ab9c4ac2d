// Package wire reads the bodies of requests. JSON, forms and multipart forms
// (specification 4, rule 2) become the same [Params], and what is signed of any
// of them is the same JSON. It is pure: it reads from memory, keeps nothing and
// knows no operation.
package wire

import (
	"mime"
	"strings"

	"github.com/orderwire/orderwire/sources/openapi"
)

// Error says what is wrong with a body or its Content-Type and what to send
// instead. It quotes nothing of the body.
type Error struct{ Message string }

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Body is a body that was read.
type Body struct {
	Params Params
	signed openapi.Members // as they were sent, without the Sign of a form
}

// Parse reads a body of any of the three types; no Content-Type is JSON. The
// parameters share the memory of the body. The error is an [*Error] or wraps
// [openapi.ErrBody].
func Parse(contentType string, body []byte) (Body, error) {
	media, boundary, err := mediaOf(contentType)
	if err != nil {
		return Body{}, err
	}
	switch media {
	case mediaJSON:
		return parseJSON(body)
	case mediaForm:
		fields, err := splitForm(string(body))
		if err != nil {
			return Body{}, err
		}
		return fromFields(fields)
	default:
		fields, err := splitMultipart(body, boundary)
		if err != nil {
			return Body{}, err
		}
		return fromFields(fields)
	}
}

// SignedBy reports whether sign is the signature of the body under one of the
// secrets; see [openapi.Members.SignedBy].
func (b Body) SignedBy(path, sign string, secrets []string) (bool, error) {
	return b.signed.SignedBy(path, sign, secrets...)
}

// The types of bodies.
const (
	mediaJSON      = "application/json"
	mediaForm      = "application/x-www-form-urlencoded"
	mediaMultipart = "multipart/form-data"
)

// mediaOf reads a Content-Type. The boundary is that of a multipart form.
func mediaOf(contentType string) (media, boundary string, err error) {
	if contentType == "" || contentType == mediaJSON {
		return mediaJSON, "", nil
	}
	media, options, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", "", &Error{"Content-Type: broken, want a type like " + mediaJSON}
	}
	if !isUTF8(options["charset"]) {
		return "", "", &Error{"Content-Type: want the charset utf-8"}
	}
	switch media {
	case mediaJSON, mediaForm:
		return media, "", nil
	case mediaMultipart:
		if boundary = options["boundary"]; boundary == "" {
			return "", "", &Error{"Content-Type: want a boundary with " + mediaMultipart}
		}
		return media, boundary, nil
	default:
		return "", "", &Error{"Content-Type: want " + mediaJSON + ", " + mediaForm + " or " + mediaMultipart}
	}
}

// isUTF8 accepts a charset that is not named, too.
func isUTF8(charset string) bool {
	return charset == "" || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
