package wire

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/orderwire/orderwire/sources/openapi"
)

// splitMultipart takes the body of a multipart form apart. It has text only: a
// file is refused, because no operation takes one.
func splitMultipart(body []byte, boundary string) ([]field, error) {
	var fields []field
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := r.NextRawPart()
		if err == io.EOF { //nolint:errorlint // a form that is cut short is an error that wraps it
			return fields, nil
		}
		if err != nil {
			return nil, errMultipart()
		}
		if len(fields) == openapi.MaxMembers {
			return nil, errTooMany()
		}
		f, err := readPart(part)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
}

func readPart(part *multipart.Part) (field, error) {
	disposition, options, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name, named := options["name"]
	if err != nil || disposition != "form-data" || !named {
		return field{}, &Error{"body: a part without the name of a field"}
	}
	if _, file := options["filename"]; file {
		return field{}, &Error{"body: a file, want text fields only"}
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		return field{}, &Error{"body: a part that is encoded, want it as it is"}
	}
	if declared := part.Header.Get("Content-Type"); declared != "" {
		if _, options, err := mime.ParseMediaType(declared); err != nil || !isUTF8(options["charset"]) {
			return field{}, &Error{"body: a part that is not declared as utf-8"}
		}
	}
	value, err := io.ReadAll(part)
	if err != nil {
		return field{}, errMultipart()
	}
	return field{name, string(value)}, nil
}

func errMultipart() error { return &Error{"body: a multipart form that is broken or cut short"} }
