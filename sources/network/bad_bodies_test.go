package network_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/orderwire/orderwire/sources/network"
)

func (f *fixture) badBodies() []bad {
	good := f.listBody("")
	with := func(member string) string { return strings.Replace(good, "{", "{"+member+",", 1) }
	body := func(name, body string) bad { return bad{name: name, body: body, status: network.StatusBody} }
	typed := func(contentType string) bad {
		return bad{name: "Content-Type " + contentType, contentType: contentType, body: good, status: network.StatusBody, says: "Content-Type"}
	}
	huge := strings.Repeat(" ", 1<<20) + good
	many := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&many, `"n%d":1,`, i)
	}
	return []bad{
		body("empty", ""), body("text", "hello"), body("array", "["+good+"]"), body("string", `"x"`), body("number", "1"), body("null", "null"),
		body("cut", good[:len(good)-1]), body("trailing garbage", good+"x"), body("two objects", good+good), body("NUL behind", good+"\x00"),
		body("byte order mark", "\ufeff"+good), body("UTF-16", "\xff\xfe{\x00}\x00"), body("comment", "/* */"+good), body("single quotes", `{'Sign':1}`),
		body("a name twice", with(`"Stime":1`)), body("a name twice, escaped", with(`"\u0053time":1`)), body("Sign twice", with(`"Sign":"x"`)),
		body("a name twice within", with(`"A":{"b":1,"b":2}`)), body("a name twice deep within", with(`"A":[[{"b":{"c":1,"c":1}}]]`)),
		body("not UTF-8", with("\"A\":\"\xff\"")), body("not UTF-8, in a name", with("\"\xc0\x80\":1")), body("half a surrogate pair", with(`"A":"\udc00"`)),
		body("control character", with("\"A\":\"\x01\"")), body("bad escape", with(`"A":"\x41"`)),
		body("nested 65 deep", with(`"A":`+strings.Repeat("[", 65)+strings.Repeat("]", 65))),
		body("nested 65 deep in objects", with(`"A":`+strings.Repeat(`{"a":`, 65)+"1"+strings.Repeat("}", 65))),
		body("nested 100,000 deep", with(`"A":`+strings.Repeat("[", 100_000))), body("10,000 members", with(strings.TrimSuffix(many.String(), ","))),
		body("gzip without saying so", zipped(f.tb, 1<<20)),
		{name: "gzip bomb", header: http.Header{"Content-Encoding": {"gzip"}}, body: zipped(f.tb, 50<<20), status: network.StatusBody, says: "Content-Encoding"},
		{name: "deflate", header: http.Header{"Content-Encoding": {"deflate"}}, body: good, status: network.StatusBody, says: "Content-Encoding"},
		{name: "huge", body: huge, http: 413, status: network.StatusTooLarge, says: "1048576"},
		{name: "huge, chunked", body: huge, chunked: true, http: 413, status: network.StatusTooLarge},
		{name: "huge form", contentType: formType, body: "a=" + huge, http: 413, status: network.StatusTooLarge},
		typed("text/plain"), typed("text/json"), typed("application/xml"), typed(";"), typed("application/json; charset"), typed("json"),
		typed("application/json; charset=iso-8859-1"), typed("application/json; charset=utf-16"), typed("multipart/mixed; boundary=x"),
		typed("multipart/form-data"), typed("multipart/form-data; boundary="), typed("application/x-www-form-urlencoded; charset=gbk"),
		{name: "two Content-Types", header: http.Header{"Content-Type": {formType}}, body: good, status: network.StatusBody, says: "Content-Type"},
		{name: "JSON that is called a form", contentType: formType, body: good, status: network.StatusParameter, says: "Sign"},
		{name: "JSON that is called multipart", contentType: "multipart/form-data; boundary=x", body: good, status: network.StatusBody},
		{name: "form that is called JSON", body: "sign=x&timestamp=1", status: network.StatusBody},
		{name: "form without a Content-Type", contentType: "-", body: "sign=x&timestamp=1", status: network.StatusBody},
	}
}

func (f *fixture) badForms() []bad {
	now := fmt.Sprint(f.clock.unix.Load())
	base := fields{"Stime": now, "Etime": now, "timestamp": now}
	sign := func(more fields) string {
		return base.with(more).signedAs(f.tb, "sign", appKey, appSecret, ordersQuery, false).encode()
	}
	good := sign(nil)
	form := func(name, body string, status network.Status, says string) bad {
		return bad{name: "form: " + name, contentType: formType, body: body, status: status, says: says}
	}
	bodies := func(name, body string) bad { return form(name, body, network.StatusBody, "body: ") }
	jsonSigned := fields{"Timestamp": now, "Stime": now, "Etime": now}
	return []bad{
		bodies("a field twice", good+"&Stime="+now), bodies("a field twice, escaped", good+"&%53time="+now), bodies("sign twice", good+"&sign=x"),
		bodies("both spellings of Sign", good+"&Sign=x"), bodies("both spellings of AppKey", good+"&AppKey=1&app_key=1"),
		bodies("both spellings of Timestamp", good+"&Timestamp="+now), bodies("both spellings of Service", good+"&service=a&Service=a"),
		bodies("bad percent escape", good+"&A=%zz"), bodies("percent escape cut short", good+"&A=%4"), bodies("bad percent escape in a name", good+"&%=1"),
		bodies("not UTF-8", good+"&A=%ff"), bodies("not UTF-8, unescaped", good+"&A=\xff"), bodies("overlong UTF-8", good+"&%c0%80=1"),
		bodies("10,000 fields", good+strings.Repeat("&a=1", 10_000)), bodies("257 fields", manyFields(257)),
		form("empty", "", network.StatusParameter, "Sign"), form("no sign", "timestamp="+now, network.StatusParameter, "Sign"),
		form("SIGN", strings.Replace(good, "sign=", "SIGN=", 1), network.StatusParameter, "Sign"),
		form("a field added", good+"&SubId=1", network.StatusSignature, ""), form("a byte order mark", "\ufeff"+good, network.StatusSignature, ""),
		form("sign in lower case", strings.Replace(good, "sign=", "sign=a", 1), network.StatusSignature, ""),
		form("respelled after signing", strings.Replace(good, "timestamp=", "Timestamp=", 1), network.StatusSignature, ""),
		form("signed as a query", jsonSigned.with(fields{"sign": "0CC175B9C0F1B6A831C399E269772661"}).encode(), network.StatusSignature, ""),
		form("app_key disagrees", sign(fields{"app_key": "other"}), network.StatusParameter, "AppKey"),
		form("service disagrees", sign(fields{"service": linksPost}), network.StatusParameter, "Service"),
		form("stale", base.with(fields{"timestamp": "1"}).signedAs(f.tb, "sign", appKey, appSecret, ordersQuery, false).encode(), network.StatusTimestamp, ""),
		form("no timestamp", base.without("timestamp").signedAs(f.tb, "sign", appKey, appSecret, ordersQuery, false).encode(), network.StatusParameter, "Timestamp"),
		form("PageSize 201", sign(fields{"PageSize": "201"}), network.StatusParameter, "PageSize"),
		form("NUL", sign(fields{"SubId": "a\x00" + secretValue}), network.StatusParameter, "SubId"),
		form("256 characters", sign(fields{"SubId": strings.Repeat("单", 256)}), network.StatusParameter, "768 bytes"),
		form("an array of Page", sign(fields{"Page": "[1]"}), network.StatusParameter, "Page"),
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d=1&", i)
	}
	return b.String()
}

// part is a part of a multipart form.
type part struct{ header, body string }

// multipartOf writes parts with their whole header, of lines "Name: value".
func (f *fixture) multipartOf(parts ...part) string {
	f.tb.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("xyz"); err != nil {
		f.tb.Fatal(err)
	}
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		for line := range strings.SplitSeq(p.header, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			h.Set(name, value)
		}
		to, err := w.CreatePart(h)
		if err != nil {
			f.tb.Fatal(err)
		}
		if _, err := to.Write([]byte(p.body)); err != nil {
			f.tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.tb.Fatal(err)
	}
	return b.String()
}

func (f *fixture) badMultiparts() []bad {
	field := `Content-Disposition: form-data; name="Stime"`
	one := part{field, "1"}
	form := func(name, body string, status network.Status, says string) bad {
		return bad{name: "multipart: " + name, contentType: "multipart/form-data; boundary=xyz", body: body, status: status, says: says}
	}
	bodies := func(name string, parts ...part) bad {
		return form(name, f.multipartOf(parts...), network.StatusBody, "body: ")
	}
	good := f.multipartOf(one)
	return []bad{
		form("a file", f.multipartOf(one, part{`Content-Disposition: form-data; name="f"; filename="a.txt"`, secretValue}), network.StatusBody, "a file"),
		bodies("a file without a name", part{`Content-Disposition: form-data; name="f"; filename=""`, ""}),
		bodies("a file, extended name", part{`Content-Disposition: form-data; name="f"; filename*=UTF-8''a`, ""}),
		bodies("no disposition", part{"Content-Type: text/plain", "1"}), bodies("an attachment", part{`Content-Disposition: attachment; name="f"`, "1"}),
		bodies("no name", part{"Content-Disposition: form-data", "1"}), bodies("a field twice", one, one),
		bodies("both spellings", part{`Content-Disposition: form-data; name="sign"`, "1"}, part{`Content-Disposition: form-data; name="Sign"`, "1"}),
		bodies("base64", part{field + "\nContent-Transfer-Encoding: base64", "MQ=="}),
		bodies("quoted printable", part{field + "\nContent-Transfer-Encoding: quoted-printable", "=31"}),
		bodies("another charset", part{field + "\nContent-Type: text/plain; charset=gbk", "1"}),
		bodies("a broken type", part{field + "\nContent-Type: ;", "1"}), bodies("not UTF-8", part{field, "\xff"}),
		form("empty", "", network.StatusBody, ""), form("cut short", good[:len(good)-9], network.StatusBody, "cut short"),
		form("another boundary", strings.ReplaceAll(good, "xyz", "abc"), network.StatusBody, ""),
		form("10,000 parts", strings.Repeat("--xyz\r\n"+field+"\r\n\r\n1\r\n", 10_000)+"--xyz--\r\n", network.StatusBody, "256"),
		form("endless header", "--xyz\r\n"+field+"\r\nA: "+strings.Repeat("a", 1<<20-200)+"\r\n\r\n1\r\n--xyz--\r\n", network.StatusParameter, "Sign"),
		form("no parts", "--xyz--\r\n", network.StatusParameter, "Sign"), form("no sign", good, network.StatusParameter, "Sign"),
		form("wrong sign", f.multipartOf(one, part{`Content-Disposition: form-data; name="sign"`, secretValue}), network.StatusSignature, ""),
	}
}
