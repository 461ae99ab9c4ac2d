package archive

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// dropUploads ends the uploads in parts of event files that nobody has completed,
// as a crash leaves them: no reader sees them, and the store is paid for them. An
// archiver that works there by mistake loses its upload and begins it again.
//
// It does what it may. Not every store knows such uploads, and not all credentials
// may list them; a lifecycle rule of the bucket does as well.
func (b *bucket) dropUploads(ctx context.Context) error {
	var client *s3.Client
	if !b.bucket.As(&client) {
		return nil
	}
	pages := s3.NewListMultipartUploadsPaginator(client, &s3.ListMultipartUploadsInput{
		Bucket: aws.String(b.at.bucket), Prefix: aws.String(b.at.key("")),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return ctx.Err()
		}
		for _, u := range page.Uploads {
			name := strings.TrimPrefix(aws.ToString(u.Key), b.at.key(""))
			if _, _, ok := rangeOf(name); !ok || strings.HasPrefix(name, ownDir+"/") {
				continue
			}
			if err := b.dropUpload(ctx, client, name, u.UploadId); err != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

func (b *bucket) dropUpload(ctx context.Context, client *s3.Client, name string, id *string) error {
	return b.do("end the upload of", name, func() error {
		_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: aws.String(b.at.bucket), Key: aws.String(b.at.key(name)), UploadId: id,
		})
		return err
	})
}
