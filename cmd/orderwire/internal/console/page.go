package console

import (
	"bytes"
	"embed"
	"encoding/csv"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

//go:embed assets
var assets embed.FS

// pages are the templates by page, each with the frame around it.
var pages = func() map[string]*template.Template {
	frame := template.Must(template.ParseFS(assets, "assets/frame.html"))
	all := make(map[string]*template.Template)
	for _, name := range []string{"error", "login", "overview", "orders", "order", "webhooks", "webhook", "replay", "deadletters"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(assets, "assets/"+name+".html"))
	}
	return all
}()

// page is what the frame shows.
type page struct {
	Title string
	At    string // the entry of the menu that the page belongs to, "" for none
	Body  any    // for the page's own template

	Menu  []entry // nil before the login
	Form  string  // token of the forms
	Token bool    // there is a login
}

// entry is one of the menu.
type entry struct{ Path, Name string }

var menu = []entry{{"/", "Overview"}, {"/orders", "Orders"}, {"/webhooks", "Webhooks"}, {"/deadletters", "Dead letters"}}

// show writes a page.
func (c *console) show(w http.ResponseWriter, r *http.Request, status int, name string, p page) {
	if id, ok := c.session(r); ok {
		p.Menu, p.Form = menu, c.sessions.formToken(id)
	}
	p.Token = c.Gate.Token != ""
	var text bytes.Buffer
	if err := pages[name].ExecuteTemplate(&text, "frame.html", p); err != nil {
		c.Logger.Error("a page cannot be made", "page", name, "error", err)
		http.Error(w, "The page cannot be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // a visitor who has gone needs no answer
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"assets/style.css", "assets/live.js", "assets/icon.svg"} {
		if r.URL.Path == "/"+name {
			http.ServeFileFS(w, r, assets, name)
			return
		}
	}
	http.NotFound(w, r)
}

// table is one that can be exported.
type table struct {
	Caption string
	Head    []column
	Rows    [][]cell
	Export  string // path of the same table as CSV, "" for none
	Empty   string // what to say when there are no rows
}

// column is a column's head.
type column struct {
	Name   string
	Number bool // its cells are numbers
}

// cell is one of a table.
type cell struct {
	Text   string
	Href   string // where it leads, "" for nowhere
	Title  string // what more there is to say
	Time   string // RFC 3339, for a moment
	Badge  string // class of a state, "" for plain text
	Number bool
}

// Class is how a cell is set: numbers to the right, and short texts on one line.
func (c cell) Class() string {
	switch {
	case c.Number:
		return "number"
	case utf8.RuneCountInString(c.Text) <= shortText:
		return "short"
	default:
		return "long"
	}
}

// shortText is the longest text that is not broken into lines.
const shortText = 24

func text(s string) cell   { return cell{Text: s} }
func number(s string) cell { return cell{Text: s, Number: true} }

// columns names plain columns; one that begins with # is of numbers.
func columns(names ...string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		plain, isNumber := strings.CutPrefix(name, "#")
		all[i] = column{plain, isNumber}
	}
	return all
}

// asCSV reports whether a request wants a table as a file.
func asCSV(r *http.Request) bool { return r.URL.Query().Get("format") == "csv" }

// exportOf returns the address of a page's table as CSV, with its filters and from
// its first row on.
func exportOf(r *http.Request) string {
	q := r.URL.Query()
	q.Set("format", "csv")
	q.Del("page")
	q.Del("before")
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// writeCSV sends a table as a file.
func writeCSV(w http.ResponseWriter, name string, t *table) error {
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
		for i, c := range row {
			line[i] = harmless(c.Text)
			if c.Time != "" {
				line[i] = c.Time
			}
		}
		_ = out.Write(line)
	}
	out.Flush()
	return nil // a visitor who has gone needs no answer
}

var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// harmless keeps a text from being taken for a formula by a spreadsheet. A negative
// number is none.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) && !plainNumber.MatchString(s) {
		return "'" + s
	}
	return s
}
