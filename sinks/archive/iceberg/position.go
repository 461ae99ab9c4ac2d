package iceberg

import (
	"fmt"
	"strconv"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/orderwire/orderwire/sinks/archive"
)

// The properties of a snapshot.
const (
	keyCommit = "orderwire.commit"
	keySHA256 = "orderwire.sha256"
	keyFirst  = "orderwire.first-sequence"
	keyLast   = "orderwire.last-sequence"
)

// position is how far a table is: the last entry of the manifest that is in,
// number 0 for none.
type position struct {
	number uint64
	sha256 string
}

// positionOf reads the properties of the current snapshot and its ancestors:
// others may have added snapshots of their own, by a rewrite of manifests for
// example.
func positionOf(t *table.Table) (position, error) {
	current := t.CurrentSnapshot()
	for s := current; s != nil; {
		if s.Summary != nil && s.Summary.Properties[keyCommit] != "" {
			n, err := strconv.ParseUint(s.Summary.Properties[keyCommit], 10, 64)
			if err != nil || n == 0 {
				return position{}, tableError(t.Identifier(), "has a snapshot with %s = %q", keyCommit, s.Summary.Properties[keyCommit])
			}
			return position{n, s.Summary.Properties[keySHA256]}, nil
		}
		if s.ParentSnapshotID == nil {
			break
		}
		s = t.SnapshotByID(*s.ParentSnapshotID)
	}
	if current != nil {
		return position{}, tableError(t.Identifier(), "has snapshots, but none of them follows an archive")
	}
	return position{}, nil
}

// behind returns the entries that the table lacks. from are those of the manifest
// from the position's number on.
func (p position) behind(name table.Identifier, from []archive.Commit) ([]archive.Commit, error) {
	if p.number == 0 {
		return from, nil
	}
	if len(from) == 0 {
		return nil, tableError(name, "is at commit %d, which the archive does not have", p.number)
	}
	if from[0].SHA256 != p.sha256 {
		return nil, tableError(name, "follows another archive: its commit %d is another", p.number)
	}
	return from[1:], nil
}

// propertiesOf says what a snapshot takes over.
func propertiesOf(entries []archive.Commit) ice.Properties {
	first, last := entries[0], entries[len(entries)-1]
	return ice.Properties{
		keyCommit: fmt.Sprint(last.Number), keySHA256: last.SHA256,
		keyFirst: fmt.Sprint(first.First), keyLast: fmt.Sprint(last.Last),
	}
}
