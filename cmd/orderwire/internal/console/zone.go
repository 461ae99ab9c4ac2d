package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	zoneCookie = "orderwire_zone"
	// zoneLife is how long a browser remembers the zone, in seconds.
	zoneLife = 365 * 24 * 60 * 60
	// mostZone bounds the name of a zone, in bytes.
	mostZone = 64
	momentAt = "2006-01-02 15:04:05 MST"
)

// zones are those that the form names; it takes any other as well.
var zones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "America/Bogota", "America/Chicago", "America/Denver",
	"America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Sao_Paulo", "America/Toronto", "Asia/Bangkok", "Asia/Dubai",
	"Asia/Hong_Kong", "Asia/Jakarta", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore",
	"Asia/Tokyo", "Australia/Sydney", "Europe/Amsterdam", "Europe/Berlin", "Europe/Istanbul", "Europe/London", "Europe/Madrid",
	"Europe/Moscow", "Europe/Paris", "Europe/Rome", "Europe/Warsaw", "Pacific/Auckland",
}

// zoneNamed returns a zone that a visitor names, false when there is none.
func zoneNamed(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || len(name) > mostZone {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// clock shows moments in the viewer's zone, or in that of the account.
type clock struct {
	viewer   *time.Location // nil: the account's
	accounts map[string]*time.Location
	now      time.Time
}

// clock returns that of a request.
func (c *console) clock(r *http.Request) clock {
	k := clock{accounts: c.Zones, now: c.now()}
	if cookie, err := r.Cookie(zoneCookie); err == nil {
		name, _ := url.QueryUnescape(cookie.Value) // what is none is no zone either
		k.viewer, _ = zoneNamed(name)
	}
	return k
}

// in returns the zone for an account, UTC for none.
func (k clock) in(account string) *time.Location {
	switch zone := k.accounts[account]; {
	case k.viewer != nil:
		return k.viewer
	case zone != nil:
		return zone
	default:
		return time.UTC
	}
}

// at shows a moment of an account, "" for none.
func (k clock) at(t time.Time, account string) cell { return moment(t, k.in(account)) }

// brief shows a moment where many stand below each other: of today its time alone,
// of this year without that. What it leaves out is in the title.
func (k clock) brief(t time.Time, account string) cell {
	c := k.at(t, account)
	if t.IsZero() {
		return c
	}
	there, today := t.In(k.in(account)), k.now.In(k.in(account))
	c.Title = c.Text + ", " + c.Title
	switch {
	case there.Format(time.DateOnly) == today.Format(time.DateOnly):
		c.Text = there.Format(time.TimeOnly)
	case there.Year() == today.Year():
		c.Text = there.Format("01-02 " + time.TimeOnly)
	default:
		c.Text = there.Format(time.DateTime)
	}
	return c
}

// ago shows how long ago a moment was.
func (k clock) ago(t time.Time, account string) cell {
	c := k.at(t, account)
	if c.Text != "–" {
		c.Text, c.Title = relative(t, k.now), c.Text
	}
	return c
}

// moment shows a moment in a zone, and in UTC to who asks for it.
func moment(t time.Time, zone *time.Location) cell {
	if t.IsZero() {
		return text("–")
	}
	return cell{
		Text: t.In(zone).Format(momentAt), Time: t.UTC().Format(time.RFC3339Nano),
		Title: t.UTC().Format("2006-01-02 15:04:05.000") + " UTC",
	}
}

// zoneForm is the form that chooses the zone.
type zoneForm struct {
	Zone  string // "" for the account's
	Zones []string
	Back  string // address of the page
}

func (c *console) zoneForm(r *http.Request) *zoneForm {
	f := &zoneForm{Zones: zones, Back: "/"}
	if k := c.clock(r); k.viewer != nil {
		f.Zone = k.viewer.String()
	}
	if r.Method == http.MethodGet {
		f.Back = r.URL.RequestURI()
	}
	return f
}

// setZone remembers the viewer's zone in a cookie.
func (c *console) setZone(w http.ResponseWriter, r *http.Request) error {
	name, seconds := strings.TrimSpace(r.PostFormValue("zone")), zoneLife
	if _, known := zoneNamed(name); !known {
		if name != "" {
			return wrong("That is no time zone: write its name as in Europe/Berlin.")
		}
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // as the session's
		Name: zoneCookie, Value: url.QueryEscape(name), Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overHTTPS(r),
	})
	http.Redirect(w, r, pathOf(r.PostFormValue("back")), http.StatusSeeOther) //nolint:gosec // pathOf leaves a path of this service
	return nil
}

// pathOf returns a path of this service that a form names, "/" for anything else.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.Contains(address, `\`) {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}
