package network

import (
	"path/filepath"
	"strings"
	"testing"
)

// One sub id is found by its index, everything else by the primary key from a
// day on.
func TestStatisticsUseIndexes(t *testing.T) {
	svc, err := Open(t.Context(), Config{DB: filepath.Join(t.TempDir(), "network.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	const byDay = "PRIMARY KEY (publisher_id=? AND by_sub=? AND day>? AND day<?)"
	for body, want := range map[string]string{
		`{"Stime":0,"Etime":0}`: byDay,
		`{"Stime":0,"Etime":0,"GroupBy":"Day,ProgramId,WebsiteId"}`:                       byDay,
		`{"Stime":0,"Etime":0,"GroupBy":"SubId"}`:                                         byDay,
		`{"Stime":0,"Etime":0,"GroupBy":"ProgramId","WebsiteId":"1"}`:                     byDay,
		`{"Stime":0,"Etime":0,"SubId":"a"}`:                                               "statistics_sub (publisher_id=? AND sub_id=? AND day>? AND day<?)",
		`{"Stime":0,"Etime":0,"SubId":"a","GroupBy":"Day,ProgramId,SubId","WebsiteId":1}`: "statistics_sub (publisher_id=? AND sub_id=? AND day>? AND day<?)",
	} {
		q, err := svc.parseStatistics(caller{publisher: 1}, parsed(t, body))
		if err != nil {
			t.Fatal(err)
		}
		if plan := planOf(t, svc.store, q.query, q.args); !strings.Contains(plan, want) {
			t.Errorf("%s: %s, want %s", body, plan, want)
		}
	}
}
