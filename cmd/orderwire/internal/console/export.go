package console

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// asFile reports whether a request wants a table as a file.
func asFile(r *http.Request) bool {
	format := r.URL.Query().Get("format")
	return format == "csv" || format == "json"
}

// wants reports whether a request wants this table of a page as a file.
func wants(r *http.Request, t *table) bool {
	return asFile(r) && r.URL.Query().Get("table") == t.ID
}

// exportOf returns the address of a page's table as CSV, with its filters and from
// its first row on.
func exportOf(r *http.Request, id string) string {
	q := r.URL.Query()
	q.Set("format", "csv")
	for name := range q {
		if name == "before" || name == "table" || strings.HasPrefix(name, "page") {
			q.Del(name)
		}
	}
	if id != "" {
		q.Set("table", id)
	}
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// asJSON returns the address of the same table as JSON.
func asJSON(export string) string { return strings.Replace(export, "format=csv", "format=json", 1) }

// writeFile sends a table as the file that a request wants. A visitor who has gone
// needs no answer.
func writeFile(w http.ResponseWriter, r *http.Request, name string, t *table) error {
	if r.URL.Query().Get("format") == "json" {
		return writeJSON(w, name, t)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	out := csv.NewWriter(w)
	head := make([]string, len(t.Head))
	for i, h := range t.Head {
		head[i] = harmless(h.Name)
	}
	_ = out.Write(head) // Flush keeps the error
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for i := range row {
			line[i] = harmless(row[i].plain())
		}
		_ = out.Write(line)
	}
	out.Flush()
	return nil
}

// writeJSON sends a table as a list of objects: counts as numbers, amounts and all
// else as texts.
func writeJSON(w http.ResponseWriter, name string, t *table) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.json"`)
	out := jsontext.NewEncoder(w, jsontext.Multiline(true))
	_ = out.WriteToken(jsontext.BeginArray)
	for _, row := range t.Rows {
		_ = out.WriteToken(jsontext.BeginObject)
		for i := range row {
			_ = out.WriteToken(jsontext.String(t.Head[i].Key))
			value := row[i].plain()
			if row[i].Number && wholeNumber.MatchString(value) {
				_ = out.WriteValue(jsontext.Value(value))
				continue
			}
			_ = json.MarshalEncode(out, strings.ToValidUTF8(value, "\uFFFD"))
		}
		_ = out.WriteToken(jsontext.EndObject)
	}
	_ = out.WriteToken(jsontext.EndArray)
	return nil
}

var (
	plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)
)

// harmless keeps a text from being taken for a formula by a spreadsheet. A negative
// number is none.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) && !plainNumber.MatchString(s) {
		return "'" + s
	}
	return s
}
