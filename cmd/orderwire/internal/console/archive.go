package console

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// archivePage is what the archive holds.
type archivePage struct {
	Missing  string // why there is nothing to see, "" when there is
	Stale    string // why it is not up to date, "" when it is
	Tiles    []tile
	Facts    []fact // of the last entry
	Verified []fact // of the last verification
	Findings table
	Table    table
	Pager    pager
}

func (c *console) archive(w http.ResponseWriter, r *http.Request) error {
	p := &archivePage{}
	now := c.shelved(r)
	if p.Missing, p.Stale = now.missing, now.stale; p.Missing != "" {
		c.show(w, r, http.StatusOK, "archive", page{Title: "Archive", At: "Archive", Body: p})
		return nil
	}
	p.Table = partitionTable(now.parts)
	p.Table.sort(r)
	if asFile(r) {
		return writeFile(w, r, "partitions", &p.Table)
	}
	p.Table.Export = exportOf(r, "")
	p.Pager = p.Table.paged(r, "partition")
	h := &now.Head
	p.Tiles = []tile{
		{Name: "Events", Figure: humanize.Comma(h.Totals.Rows), Note: "up to sequence " + humanize.Comma(int64(h.Last))},
		{Name: "Files", Figure: humanize.Comma(h.Totals.Files), Note: "in " + plural(uint64(len(now.parts)), "partition"), Href: "/archive/files"},
		{Name: "Size", Figure: size(h.Totals.Bytes), Note: "compressed"},
		{Name: "Commits", Figure: humanize.Comma(int64(h.Number)), Note: "of them " + plural(now.Compactions, "compaction")},
	}
	p.describe(&now, c.clock(r))
	c.show(w, r, http.StatusOK, "archive", page{Title: "Archive", At: "Archive", Body: p})
	return nil
}

// shelved returns what is known of the archive.
func (c *console) shelved(r *http.Request) shelved {
	if c.shelf == nil {
		return shelved{missing: "This process knows no archive."}
	}
	return c.shelf.look(r.Context())
}

func (p *archivePage) describe(now *shelved, k clock) {
	if h := &now.Head; h.Number > 0 {
		kind, events := "batch", humanize.Comma(int64(h.First))+" to "+humanize.Comma(int64(h.Last))
		if h.IsCompaction() {
			kind, events = "compaction", "none new: "+plural(uint64(len(h.Replaces)), "file")+" became "+strconv.Itoa(len(h.Files))
		}
		p.Facts = []fact{{"Number", count(h.Number)}, {"Kind", text(kind)}, {"Sequences", text(events)}, {"Files", count(uint64(len(h.Files)))}, {"Writer", text(h.Writer)}, {"SHA-256", text(h.SHA256)}}
	}
	v := now.verified
	if now.note != nil {
		p.Verified = []fact{{"Outcome", cell{Text: "cannot be read", Badge: "bad"}}, {"Why", text(now.note.Error())}}
	}
	if v == nil {
		return
	}
	state := cell{Text: "sound", Badge: "good"}
	if v.Findings > 0 {
		state = cell{Text: plural(uint64(v.Findings), "finding"), Badge: "bad"}
	}
	against := "not compared"
	if v.WithLog {
		against = humanize.Comma(v.Compared) + " found in it, " + humanize.Comma(v.Gone) + " no longer in it"
	}
	p.Verified = []fact{
		{"Outcome", state}, {"Ended", k.ago(v.At, "")}, {"Took", text(time.Duration(v.Seconds * float64(time.Second)).Round(time.Millisecond).String())},
		{"Up to sequence", count(v.Last)}, {"Commits", count(uint64(v.Commits))}, {"Files", count(uint64(v.Files))}, {"Events", count(uint64(v.Rows))}, {"The log", text(against)},
	}
	p.Findings = table{Caption: "The first findings", Head: columns("Kind", "Place", "What", "What to do")}
	for i := range v.First {
		f := &v.First[i]
		p.Findings.Rows = append(p.Findings.Rows, []cell{text(string(f.Kind)), text(f.Path), text(f.What), text(f.Do)})
	}
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

func sizeCell(bytes int64) cell {
	return cell{Text: size(bytes), Value: strconv.FormatInt(bytes, 10), Title: humanize.Comma(bytes) + " bytes", Number: true}
}

func partitionTable(parts []partition) table {
	t := table{
		Caption: "Partitions, the newest first", Head: columns("Day (UTC)", "Account", "#Files", "#Events", "#Size", "#First sequence", "#Last sequence"),
		Empty: noFiles,
	}
	for i := range parts {
		p := &parts[i]
		href := "/archive/files?" + url.Values{"account": {p.account}, "day": {p.day}}.Encode()
		t.Rows = append(t.Rows, []cell{
			linked(text(p.day), href), text(p.account), linked(count(uint64(p.Files)), href), count(uint64(p.Rows)), sizeCell(p.Bytes), count(p.first), count(p.last),
		})
	}
	return t
}

const noFiles = "The archive holds no files yet. The first is written soon after the first events."

// filesPage are the files of the archive.
type filesPage struct {
	Missing      string
	Account, Day string
	Table        table
	Pager        pager
}

func (c *console) archiveFiles(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := &filesPage{Account: q.Get("account"), Day: q.Get("day")}
	now := c.shelved(r)
	p.Missing = now.missing
	p.Table = table{
		Caption: "Files, by their sequences", Head: columns("File", "Account", "Day (UTC)", "#Events", "#Size", "#First sequence", "#Last sequence", "SHA-256"),
		Empty: "No files match.",
	}
	if p.Account+p.Day == "" {
		p.Table.Empty = noFiles
	}
	for i := range now.Files {
		f := &now.Files[i]
		account, day := placed(f)
		if p.Account != "" && account != p.Account || p.Day != "" && day != p.Day {
			continue
		}
		p.Table.Rows = append(p.Table.Rows, []cell{
			{Text: path.Base(f.Path), Value: f.Path, Title: f.Path}, text(account), text(day), count(uint64(f.Rows)), sizeCell(f.Bytes), count(f.First), count(f.Last),
			{Text: f.SHA256[:min(len(f.SHA256), 12)], Value: f.SHA256, Title: f.SHA256},
		})
	}
	p.Table.sort(r)
	if asFile(r) {
		return writeFile(w, r, "files", &p.Table)
	}
	p.Table.Export = exportOf(r, "")
	p.Pager = p.Table.paged(r, "file")
	c.show(w, r, http.StatusOK, "archivefiles", page{Title: "Files of the archive", At: "Archive", Body: p})
	return nil
}
