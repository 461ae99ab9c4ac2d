package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
)

//go:embed assets
var assets embed.FS

// pages are the templates by page, each with the frame around it.
var pages = func() map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(template.FuncMap{"asJSON": asJSON}).ParseFS(assets, "assets/frame.html"))
	all := make(map[string]*template.Template)
	for _, name := range []string{"error", "login", "overview", "orders", "order", "webhooks", "webhook", "replay", "deadletters",
		"accounts", "archive", "archivefiles", "ledger", "postings", "earnings", "waiting", "programs"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(assets, "assets/"+name+".html"))
	}
	return all
}()

// page is what the frame shows.
type page struct {
	Title string
	At    string // the entry of the menu that the page belongs to, "" for none
	Body  any    // for the page's own template

	Parts   []entry // the pages that it is one of, nil when it stands alone
	Part    string  // the name of this one
	Missing string  // why there is nothing to see, "" when there is
	Address string  // where the page can be loaded again, "" for where it is

	Menu  []entry // nil before the login
	Form  string  // token of the forms
	Token bool    // there is a login
	Zone  *zoneForm
}

// entry is one of the menu.
type entry struct{ Path, Name string }

var menu = []entry{{"/", "Overview"}, {"/orders", "Orders"}, {"/ledger", "Ledger"}, {"/accounts", "Accounts"}, {"/webhooks", "Webhooks"}, {"/archive", "Archive"}, {"/deadletters", "Dead letters"}}

// show writes a page.
func (c *console) show(w http.ResponseWriter, r *http.Request, status int, name string, p page) {
	if id, ok := c.session(r); ok {
		p.Menu, p.Form, p.Zone = menu, c.sessions.formToken(id), c.zoneForm(r)
	}
	_, named := c.Gate.Person(r)
	p.Token = c.Gate.Token != "" && !named
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
