package network

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// The bytes of a record, in two zones, with and without its lines.
func TestRecordBytes(t *testing.T) {
	o := order{
		id: 10000001, program: "1042", programName: `Lumen "Home"`, website: "1026", link: "100001", sn: "书1/A&B\x1f",
		placed: 1794412800, price: 12_30, commission: 5, currency: "CNY", status: schema.Confirmed,
		charge: charge{12_00, 4, "USD", 1794499199},
	}
	head := o.head()
	const lines = `[{"ItemId":"1"}]`
	zones := map[string]*time.Location{"2026-11-11 16:00:00 2026-11-12 15:59:59": time.UTC, "2026-11-12 00:00:00 2026-11-12 23:59:59": shanghai()}
	for times, zone := range zones {
		want := `{"Id":"10000001","ProgramId":"1042","ProgramName":"Lumen \"Home\"","WebsiteId":"1026","LinkId":"100001",` +
			`"OrderSn":"书1/A&B\u001f","OrderTime":"` + times[:19] + `","OrdersPrice":"12.30","SiterCommission":"0.05","Currency":"CNY",` +
			`"Status":"1","ConfirmPrice":"12.00","ConfirmSiterCommission":"0.04","ChargeCurrency":"USD","ChargeTime":"` + times[20:] + `"`
		if got := string(recordWriter{zone: zone}.append(nil, head, lines)); got != want+"}" {
			t.Errorf("without lines\ngot  %s\nwant %s}", got, want)
		}
		if got := string(recordWriter{zone: zone, details: true}.append([]byte("x"), head, lines)); got != "x"+want+`,"Details":`+lines+"}" {
			t.Errorf("with lines: %s", got)
		}
	}
}

// However many marks there are, the one that is found is at or before the
// offset and is one that was added.
func TestBookmarkThins(t *testing.T) {
	var b bookmarks
	const all = 3 * maxMarks
	for i := range int64(all) {
		b.remember("list", 7, 99, mark{i * 10, place{i, i}})
	}
	if n := len(b.young["list"].marks); n > maxMarks {
		t.Errorf("%d marks", n)
	}
	for _, offset := range []int64{5, 10_005, all*10 - 10, all * 20} {
		total, m, known := b.recall("list", 7, offset)
		if known && (m.offset > offset || m.place != (place{m.offset / 10, m.offset / 10})) || total != 99 {
			t.Errorf("offset %d: %+v, total %d", offset, m, total)
		}
		if offset >= all*10-10 && m.offset != all*10-10 {
			t.Errorf("the newest mark is not there for %d", offset)
		}
	}
	if total, _, known := b.recall("list", 8, 50); known || total >= 0 {
		t.Error("another state of the orders is answered")
	}
	b.remember("list", 6, 1, mark{10, place{}})
	if total, _, _ := b.recall("list", 7, 50); total != 99 {
		t.Error("an older state of the orders has won")
	}
	for i := range 5 * maxBookmarks {
		b.remember(fmt.Sprint(i), 7, int64(i), mark{})
		b.recall("list", 7, 0)
	}
	if total, _, _ := b.recall("list", 7, 0); total != 99 || len(b.young)+len(b.old) > 2*maxBookmarks+1 {
		t.Errorf("total %d, %d lists", total, len(b.young)+len(b.old))
	}
}

func TestParseMinutes(t *testing.T) {
	got, err := parseMinutes([]byte("5 10 29906880 3"))
	if err != nil || !slices.Equal(got, []minuteCount{{5, 10}, {29906880, 3}}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := parseMinutes(nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseMinutes([]byte("5 -1")); err == nil {
		t.Error("a negative count is accepted")
	}
}
