package commission

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func changesOf(text string) (all []change, err error) {
	err = readChanges(text, func(c change) error {
		all = append(all, c)
		return nil
	})
	return all, err
}

func TestChangesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	number := rapid.Int64()
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) change {
			n := rapid.SliceOfN(number, changeNumbers, changeNumbers).Draw(rt, "numbers")
			return change{n[0], n[1], n[2], sum{n[3], n[4], n[5]}}
		})).Draw(rt, "changes")
		var text []byte
		for i := range want {
			text = want[i].append(text)
		}
		if got, err := changesOf(string(text)); err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%s: got %v, %v, want %v", text, got, err, want)
		}
	})
}

// badChanges are texts that are refused.
var badChanges = []string{
	"x", "[", "[]", "[1,2,3,4,5]", "[1,2,3,4,5,6", "[1,2,3,4,5,6,7]", "[1,2,3,4,5,6],", "[1,2,3,4,5,6][1,2,3,4,5,6]", ",[1,2,3,4,5,6]",
	"[1,2,3,4,5,]", "[1,2,3,4,5,-]", "[1,2,3,4,5,--6]", "[1,2,3,4,5,6.0]", "[1, 2,3,4,5,6]", "[1,2,3,4,5,9223372036854775808]",
	"[1,2,3,4,5,-9223372036854775809]", "[[1,2,3,4,5,6]]",
}

func TestBadChanges(t *testing.T) {
	t.Parallel()
	for _, text := range badChanges {
		if got, err := changesOf(text); !errors.Is(err, errChanges) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	stop := errors.New("stop")
	if err := readChanges("[1,2,3,4,5,6]", func(change) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// What is read gives the same when it is written and read again.
func FuzzChanges(f *testing.F) {
	for _, text := range append(badChanges, "", "[1,2,3,4,5,6]", "[1,2,3,-4,-5,-6],[7,8,9,0,9223372036854775807,-9223372036854775808]", "[01,2,3,4,5,-0]") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := changesOf(text)
		if err != nil {
			return
		}
		var again []byte
		for i := range all {
			again = all[i].append(again)
		}
		if got, err := changesOf(string(again)); err != nil || !slices.Equal(got, all) {
			t.Errorf("%s became %s: got %v, %v", text, again, got, err)
		}
	})
}

// Short batches share a row of a day until the log has gone on by 512.
func TestPartsOfADay(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	for i, sequence := range []uint64{1, 2, 511, 512, 1024} {
		write(t, b, at(3, 5, sequence, 1, order(fmt.Sprint("order ", i))))
	}
	write(t, b, at(3, 6, 1025, 1, order("next day")))
	rows, err := collect(t.Context(), b.db, func(rows *sql.Rows) (string, error) {
		var day, part int64
		var text string
		if err := rows.Scan(&day, &part, &text); err != nil {
			return "", err
		}
		all, err := changesOf(text)
		return fmt.Sprint(day, " ", part, ": ", len(all)), err
	}, "SELECT day, part, entries FROM commission_changes ORDER BY day, part")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "parts", rows, "20260305 0: 3", "20260305 1: 1", "20260305 2: 1", "20260306 2: 1")
	expect(t, "their sum", earned(t, b.Reader, Query{By: ByPosting, Group: []string{"program", "website"}}), "77/w1 USD 6 84.00 4.20")
}

// What nobody here has written is not added up.
func TestDamagedChanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"[1,2,3]": errChanges, "[1,99,1,1,1,1]": errNoWord} {
		b, _ := open(t)
		write(t, b, entry(1, 1, order("a")))
		exec(t, b, "UPDATE commission_changes SET entries = '"+text+"'")
		_, err := b.Earnings(t.Context(), Query{By: ByPosting, Group: []string{"program", "website"}})
		failure(t, err, want, b.where, "earnings")
	}
}
