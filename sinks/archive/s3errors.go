package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
)

// s3Error turns a store's answer into a [StorageError]. Its cause wraps
// [fs.ErrNotExist], [fs.ErrExist] and [fs.ErrPermission] as on disk.
func s3Error(op, path string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return storageError(op, path, err)
	}
	cause, hint := s3Answer(err), "see to the store and the way there; the log holds the events until then"
	var api smithy.APIError
	known := errors.As(err, &api)
	switch {
	case noBucket(err):
		hint = "make the bucket, or correct the url; the log holds the events until then"
	case gcerrors.Code(err) == gcerrors.NotFound:
		cause, hint = fmt.Errorf("%w: %w", fs.ErrNotExist, cause), "is it the address of an archive?"
	case known && api.ErrorCode() == "PreconditionFailed":
		cause, hint = fmt.Errorf("%w: %w", fs.ErrExist, cause), "another archiver may work there"
	case gcerrors.Code(err) == gcerrors.PermissionDenied,
		known && (api.ErrorCode() == "InvalidAccessKeyId" || api.ErrorCode() == "SignatureDoesNotMatch"):
		cause = fmt.Errorf("%w: %w", fs.ErrPermission, cause)
		hint = "let these credentials read, write, list and delete there, or give others (AWS_ACCESS_KEY_ID, a profile, the machine's role); the log holds the events until then"
	}
	return &StorageError{Op: op, Path: path, Hint: hint, Cause: cause}
}

// s3Answer shortens an error to what the store said, if it said anything.
func s3Answer(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	return err
}

func noBucket(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NoSuchBucket"
}
