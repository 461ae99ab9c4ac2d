package archive

import "context"

// Reachable asks the archive's place for the file that says that there is an archive:
// nil when the disk or the bucket answers with it, else a [*StorageError]. It may be
// called at any time from any goroutine.
func (a *Archive) Reachable(ctx context.Context) error {
	_, err := a.place.read(ctx, markName)
	return err
}
