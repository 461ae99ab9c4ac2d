package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

const reports = "/api/v1/reports/"

// Every report and list answers as the document has it, and as CSV with the same rows.
func TestTables(t *testing.T) {
	t.Parallel()
	f := stocked(t)
	f.rates = filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(f.rates, []byte("2026-03-01,CNY,EUR,0.13\n2026-03-01,USD,EUR,0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, has, head, row string }{
		{
			reports + "earnings", `{"rows":[{"account":"main","program_id":"77","website_id":"","sub_id":"s-\u003cc\u003e","currency":"CNY","status":"-1"`,
			"account,program,website,sub_id,day,status,currency,orders,order_amount,commission", "main,77,,s-<c>,2026-03-01,Invalid,CNY,1,100.00,0.00",
		},
		{reports + "earnings?by=month,status&from=2026-03-01", `{"group":["2026-03","1"],"currency":"USD","orders":1,"order_amount":"14.00","commission":"0.70"}`, "month,status,currency,orders,order_amount,commission", "2026-03,-1,CNY,1,100.00,0.00"},
		{reports + "earnings?by=program&in=EUR", `{"rows":[{"group":["77"],"currency":"EUR","orders":3,"order_amount":"38.60","commission":"1.28"}]}`, "program,currency,orders,order_amount,commission", "77,EUR,3,38.60,1.28"},
		{reports + "earnings?day=posting&by=day&sub_id=s-%3Cc%3E", `{"group":["2026-04-02"],"currency":"CNY","orders":0,"order_amount":"0.00","commission":"-5.00"}`, "day,currency,orders,order_amount,commission", "2026-03-31,CNY,1,100.00,5.00"},
		{reports + "earnings?link=none", `{"rows":[]}`, "currency,orders,order_amount,commission", ""},
		{reports + "sub-ids", `"group":["s-b","1"]`, "sub_id,status,currency,orders,order_amount,commission", "s-<c>,-1,CNY,1,100.00,0.00"},
		{reports + "statement?month=2026-04", `{"month":"2026-04","closed":false,"lines":[{"account":"main","ledger_account":"`, "account,currency,ledger_account,opening,movement,closing", "main,CNY,earnings,-10.00,0.00,-10.00"},
		{reports + "statement?account=nobody", `"lines":[]`, "account,currency,ledger_account,opening,movement,closing", ""},
		{reports + "ageing?on=2026-04-10", `"age":"31-60","orders":1`, "account,program,currency,days,orders,order_amount,commission", "main,77,CNY,31-60,1,100.00,5.00"},
		{reports + "reversals", `"rate":"0.5000","approved":0,"p50_days":null`, "account,program,orders,pending,reversed,rate,approved,p50_days,p90_days,p99_days", "main,77,3,1,1,0.5000,0,,,"},
		{reports + "overdue", `{"rows":[]}`, "account,program,order_sn,sub_id,day,days,usual_days,currency,commission", ""},
		{reports + "estimated-vs-confirmed", `"rate":"0.140000"`, "account,program,estimated_currency,confirmed_currency,orders,estimated_amount,estimated_commission,confirmed_amount,confirmed_commission,rate", "main,77,CNY,USD,1,100.00,5.00,14.00,0.70,0.140000"},
		{reports + "conversions?program=77", `"confirmed_currency":"USD"`, "account,program,estimated_currency,confirmed_currency,orders,estimated_amount,estimated_commission,confirmed_amount,confirmed_commission,rate", "main,77,CNY,USD,1,100.00,5.00,14.00,0.70,0.140000"},
		{"/api/v1/orders?status=Confirmed", `"total":1,"next_offset":0`, "key,account,program_id,order_sn,program_name,website_id,sub_id,day,status,status_name,vanished,currency,order_amount,commission,version,sequence,observed_at", "main.77.b,main,77,b,,,s-b,2026-03-01,1,Confirmed,false,USD,14.00,0.70,1,2,2026-03-06T00:00:00"},
		{"/api/v1/orders?limit=1&offset=1&order=", `"order_sn":"b"`, "key,account,", "main.77.b,"},
		{"/api/v1/orders?limit=2", `"total":3,"next_offset":2`, "key,account,", "main.77.=3Cc=3E,"},
		{"/api/v1/orders?order=%25&sub_id='+or+1=1--", `{"orders":[],"total":0,"next_offset":0}`, "key,", ""},
		{"/api/v1/orders/main.77.=3Cc=3E", `"changes":[{"path":"/Status","from":"0","to":"-1"}]}],"complete":true}`, "sequence,stored,version,type,observed_at,path,from,to", "3,2026-03-31T00:00:00Z,1,status.changed,2026-03-31T00:00:00Z,,,"},
		{"/api/v1/orders/main.77.aged", `"events":[],"complete":false}`, "sequence,", ""},
		{"/api/v1/dead-letters?limit=1", `{"dead_letters":[{"place":3,"at":"2026-11-01T08:00:00Z","sink":"poller.main","reason":"no order number","attempts":1,"bytes":23}],"next_before":3}`, "place,at,sink,key,type,event_id,version,sequence,attempts,bytes,reason", "3,2026-11-01T08:00:00Z,poller.main,,,,0,0,1,23,no order number"},
		{"/api/v1/dead-letters?sink=partner/a&before=2", `"key":"main.77.a=2F1","type":"status.changed","event_id":"`, "place,at,", "1,2026-11-01T08:00:00Z,partner/a,main.77.a=2F1,status.changed,"},
		{"/api/v1/archive", `"rows":4,`, "account,date,files,rows,bytes,first_sequence,last_sequence", "main,2026-03-05,1,1,"},
	} {
		rec := send(t, f, request{method: "GET", path: tt.path})
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), tt.has) || strings.Contains(rec.Body.String(), "secret payload") {
			t.Errorf("%s: HTTP %d: %s\nwant %s", tt.path, rec.Code, rec.Body, tt.has)
		}
		sep := "?"
		if strings.Contains(tt.path, "?") {
			sep = "&"
		}
		sheet := send(t, f, request{method: "GET", path: tt.path + sep + "format=csv"})
		if got := sheet.Body.String(); sheet.Code != http.StatusOK || !strings.HasPrefix(sheet.Header().Get("Content-Type"), "text/csv") ||
			!strings.HasPrefix(lineOf(got, 0), tt.head) || !strings.HasPrefix(lineOf(got, 1), tt.row) || strings.Contains(got, "secret payload") {
			t.Errorf("%s as CSV: HTTP %d:\n%s\nwant\n%s\n%s", tt.path, sheet.Code, got, tt.head, tt.row)
		}
	}
}

// A change stands in CSV as its texts, without the quotes of JSON.
func TestTimelineSheet(t *testing.T) {
	t.Parallel()
	rec := send(t, stocked(t), request{method: "GET", path: "/api/v1/orders/main.77.=3Cc=3E?format=csv"})
	if want := "4,2026-04-02T00:00:00Z,2,status.changed,2026-04-02T00:00:00Z,/Status,0,-1"; lineOf(rec.Body.String(), 2) != want {
		t.Errorf("%s, want %s", rec.Body, want)
	}
}

// The header Accept chooses as well, and the parameter is above it.
func TestForms(t *testing.T) {
	t.Parallel()
	f := stocked(t)
	for _, tt := range []struct {
		accept, query string
		csv           bool
	}{
		{"", "", false}, {"*/*", "", false}, {"text/csv", "", true}, {"text/csv;q=0.5, application/json", "", false},
		{"application/json;q=0.1, text/csv", "", true}, {"text/csv;q=0", "", false}, {"text/csv", "?format=json", false}, {"application/json", "?format=csv", true},
		{"text/html, text/csv ; header=present", "", true}, {";;;", "", false},
	} {
		rec := send(t, f, request{method: "GET", path: "/api/v1/orders" + tt.query, header: map[string]string{"Accept": tt.accept}})
		if rec.Code != http.StatusOK || strings.HasPrefix(rec.Header().Get("Content-Type"), "text/csv") != tt.csv {
			t.Errorf("%q %s: HTTP %d, %s", tt.accept, tt.query, rec.Code, rec.Header().Get("Content-Type"))
		}
	}
}

// What cannot be asked is a problem that says why.
func TestTableRefusals(t *testing.T) {
	t.Parallel()
	f := stocked(t)
	rates, wrong := filepath.Join(t.TempDir(), "rates.csv"), filepath.Join(t.TempDir(), "wrong.csv")
	for path, text := range map[string]string{rates: "2026-03-01,CNY,EUR,0.13\n", wrong: "one line\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path, rates string
		code        int
		has         string
	}{
		{reports + "earnings?in=EUR", "", 422, "commission.rates"},
		{reports + "earnings?in=EUR", rates, 422, `"rate":{"day":"2026-03-01","from":"USD","to":"EUR"}`},
		{reports + "sub-ids?in=EUR", wrong, 500, "line 1: is not date,from,to,rate"},
		{reports + "sub-ids?in=EUR", rates + "x", 503, "no such file"},
		{reports + "earnings?by=colour", "", 400, "by cannot be colour"},
		{reports + "earnings?day=birth", "", 400, "day cannot be birth"},
		{reports + "earnings?from=yesterday", "", 400, "from is no day"},
		{reports + "earnings?by=day&by=month", "", 400, "stands twice"},
		{reports + "earnings?rates=/etc/passwd", "", 400, "there is no parameter"},
		{reports + "earnings?format=xml", "", 400, "there are json and csv"},
		{reports + "ageing?on=today", "", 400, "is no day"},
		{reports + "statement?month=March", "", 400, "month is no month"},
		{reports + "statement?check=true", "", 400, "no parameter"},
		{reports + "nothing", "", 404, "openapi.yaml"},
		{"/api/v1/orders?limit=0", "", 400, "between 1 and 1000"},
		{"/api/v1/orders?offset=-1", "", 400, "offset is no number"},
		{"/api/v1/orders?to=2026-02-30", "", 400, "to is no day"},
		{"/api/v1/orders/main.77", "", 404, "not the key of an order"},
		{"/api/v1/orders/main.77.none", "", 404, "knows no such order"},
		{"/api/v1/dead-letters?before=x", "", 400, "before is no number"},
		{"/api/v1/months/2026-03/check", "", 409, "month 2026-03 was not closed"},
		{"/api/v1/months/March/check", "", 400, "is no month"},
	} {
		f.rates = tt.rates
		rec := send(t, f, request{method: "GET", path: tt.path})
		if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.has) {
			t.Errorf("%s: HTTP %d: %s, want %d: %s", tt.path, rec.Code, rec.Body, tt.code, tt.has)
		}
	}
	bare := &fake{shelf: shelf{place: t.TempDir()}}
	for path, has := range map[string]string{
		reports + "ageing": "no commission books yet", "/api/v1/orders": "no commission books yet", "/api/v1/archive": "it begins with the first events",
	} {
		if rec := send(t, bare, request{method: "GET", path: path}); rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), has) {
			t.Errorf("%s without: HTTP %d: %s", path, rec.Code, rec.Body)
		}
	}
}

// A month is closed once, and is the same whenever it is closed again.
func TestClosing(t *testing.T) {
	t.Parallel()
	f := stocked(t)
	post := func(month string) (int, string) {
		rec := send(t, f, request{method: "POST", path: "/api/v1/months/" + month + "/close", body: "{}"})
		return rec.Code, rec.Body.String()
	}
	if code, body := post("2026-04"); code != http.StatusConflict || !strings.Contains(body, "cannot be closed before 2026-03") {
		t.Errorf("April first: HTTP %d: %s", code, body)
	}
	code, first := post("2026-03")
	if code != http.StatusOK || !strings.Contains(first, `"month":"2026-03","closed_at":"`) || !strings.Contains(first, `"transactions":3`) {
		t.Errorf("March: HTTP %d: %s", code, first)
	}
	if code, again := post("2026-03"); code != http.StatusOK || again != first {
		t.Errorf("March again: HTTP %d: %s, want %s", code, again, first)
	}
	if rec := send(t, f, request{method: "GET", path: "/api/v1/months/2026-03/check"}); rec.Code != http.StatusOK || rec.Body.String() != first {
		t.Errorf("check: HTTP %d: %s", rec.Code, rec.Body)
	}
	for month, want := range map[string]string{"2999-01": "has not ended", "2026-02": "is closed"} {
		if code, body := post(month); code != http.StatusConflict || !strings.Contains(body, want) {
			t.Errorf("%s: HTTP %d: %s", month, code, body)
		}
	}
	if rec := send(t, f, request{method: "POST", path: "/api/v1/months/2026-03/close", body: `{"force":true}`}); rec.Code != http.StatusBadRequest {
		t.Errorf("with a field: HTTP %d: %s", rec.Code, rec.Body)
	}
	if code, body := post("x"); code != http.StatusBadRequest || !strings.Contains(body, "is no month") {
		t.Errorf("x: HTTP %d: %s", code, body)
	}
}

// The network's clicks stand beside the orders and the commission of the books.
func TestClicks(t *testing.T) {
	t.Parallel()
	f := stocked(t)
	f.rates = filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(f.rates, []byte("2026-03-01,CNY,EUR,0.13\n2026-03-01,USD,EUR,0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.statistics = []openapi.Statistic{
		{Day: "2026-03-01", ProgramID: "77", Currency: "CNY", Charge: "USD", Clicks: 120, Orders: 1}, {Day: "2026-03-01", ProgramID: "77", Currency: "CNY", Clicks: 80},
		{Day: "2026-03-02", ProgramID: "78", Currency: "SEK", Clicks: 5}, {Day: "2026-03-03", ProgramID: "78", Currency: "SEK"},
	}
	const span, head = "?from=2026-03-01&to=2026-03-31&format=csv", "account,day,clicks,orders,conversion_rate,currency,commission,epc\n"
	for _, tt := range []struct{ query, asked, want string }{
		{
			span, "{From:2026-03-01 To:2026-03-31 Group:[Day] ProgramID: WebsiteID: SubID:}", head +
				"main,2026-03-01,200,2,0.0100,CNY,5.00,2.50\nmain,2026-03-01,200,1,0.0050,USD,0.70,0.35\nmain,2026-03-02,5,0,0.0000,SEK,0.00,0.00\n",
		},
		{span + "&in=EUR&account=main", "Group:[Day]", head + "main,2026-03-01,200,3,0.0150,EUR,1.28,0.64\nmain,2026-03-02,5,0,0.0000,EUR,0.00,0.00\n"},
		{
			span + "&by=program,day&program=77", "Group:[ProgramId Day] ProgramID:77", "account,program,day,clicks,orders,conversion_rate,currency,commission,epc\n" +
				"main,77,2026-03-01,200,2,0.0100,CNY,5.00,2.50\n",
		},
		{span + "&by=sub_id&website=w&sub_id=s", "Group:[SubId] ProgramID: WebsiteID:w SubID:s", "account,sub_id,clicks,"},
	} {
		f.asked = nil
		rec := send(t, f, request{method: "GET", path: reports + "clicks" + tt.query})
		if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Body.String(), tt.want) || len(f.asked) != 1 || !strings.Contains(f.asked[0], tt.asked) {
			t.Errorf("%s: asked %v, HTTP %d:\n%s\nwant %s\n%s", tt.query, f.asked, rec.Code, rec.Body, tt.asked, tt.want)
		}
	}
	if rec := send(t, f, request{method: "GET", path: reports + "clicks?from=2026-03-01&to=2026-03-02"}); !strings.Contains(rec.Body.String(),
		`{"account":"main","group":["2026-03-01"],"clicks":200,"orders":2,"conversion_rate":"0.0100","currency":"CNY","commission":"5.00","epc":"2.50"}`) {
		t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
	}
	for query, want := range map[string]string{
		"?by=link": "by cannot be link here", "?by=day,day": "each once", "?from=2025-01-01&to=2026-03-01": "at most 365 days", "?from=2026-03-02&to=2026-03-01": "not after it",
		"?to=now": "to is no day", "?account=nobody": "account is none of the configuration",
	} {
		if rec := send(t, f, request{method: "GET", path: reports + "clicks" + query}); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: HTTP %d: %s, want %s", query, rec.Code, rec.Body, want)
		}
	}
	f.err = errDown
	if rec := send(t, f, request{method: "GET", path: reports + "clicks"}); rec.Code != http.StatusBadGateway || !strings.Contains(rec.Body.String(), "account main: the network gives no clicks") {
		t.Errorf("without the network: HTTP %d: %s", rec.Code, rec.Body)
	}
}
