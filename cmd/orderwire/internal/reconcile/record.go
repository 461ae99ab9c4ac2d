package reconcile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"io"
	"strings"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// record is an order as one side has it.
type record = commission.Audited

// compareKeys is the order of records.
func compareKeys(a, b schema.OrderKey) int {
	return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(a.Program, b.Program), strings.Compare(a.OrderSn, b.OrderSn))
}

// appendRecord encodes a record for a temporary file.
func appendRecord(b []byte, r *record) []byte {
	for _, s := range [...]string{r.Key.Account, r.Key.Program, r.Key.OrderSn, r.ObservedAt, r.Day, r.Status, r.Currency} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	var vanished uint64
	if r.Vanished {
		vanished = 1
	}
	for _, n := range [...]uint64{r.Version, r.Sequence, vanished} {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendVarint(b, r.OrderAmount)
	return binary.AppendVarint(b, r.Commission)
}

// readRecord decodes what appendRecord has written. The error is io.EOF at the end.
func readRecord(in *bufio.Reader) (r record, err error) {
	for i, s := range [...]*string{&r.Key.Account, &r.Key.Program, &r.Key.OrderSn, &r.ObservedAt, &r.Day, &r.Status, &r.Currency} {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return r, cutShort(err, i > 0)
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			return r, cutShort(err, true)
		}
		*s = string(text)
	}
	var vanished uint64
	for _, n := range [...]*uint64{&r.Version, &r.Sequence, &vanished} {
		if *n, err = binary.ReadUvarint(in); err != nil {
			return r, cutShort(err, true)
		}
	}
	r.Vanished = vanished == 1
	if r.OrderAmount, err = binary.ReadVarint(in); err != nil {
		return r, cutShort(err, true)
	}
	r.Commission, err = binary.ReadVarint(in)
	return r, cutShort(err, true)
}

func cutShort(err error, inside bool) error {
	if inside && err == io.EOF { //nolint:errorlint // it comes as it is
		return io.ErrUnexpectedEOF
	}
	return err
}
