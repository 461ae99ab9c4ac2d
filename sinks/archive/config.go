package archive

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The defaults of [Config].
const (
	DefaultRollBytes = 128 << 20
	DefaultRollEvery = 5 * time.Minute
	DefaultZstdLevel = 1
)

const (
	mostRollBytes = 1 << 30 // the texts of a column are counted in 32 bits
	mostZstdLevel = 22
)

// Config says where an archive is and when it cuts a batch. A batch becomes one
// commit, with one file for each account and date in it.
type Config struct {
	// Dir is the folder of the archive, which is made if it is missing, or
	// s3://bucket/prefix, of which the bucket must be there. Required.
	Dir string
	// RollBytes cuts a batch as soon as its events, as they stand in the log,
	// have this many bytes. Such a batch takes about 60 % of that in memory, where
	// there may be two, and 10 % on disk. 0: 128 MiB; at most 1 GiB.
	RollBytes int64
	// RollEvery cuts a batch before an event that the log stored more than this
	// after the batch's first. It goes by the log's clock alone, so that a
	// replay cuts alike. 0: 5 minutes.
	RollEvery time.Duration
	// ZstdLevel is how hard files are compressed, 1 to 22. The columns are small
	// before compression already: a higher level takes more time than it saves
	// space. 0: 1.
	ZstdLevel int
	// Follower is run beside the archive after each commit; nil for none. Its
	// failure is logged, stands in [Stats] and is tried again at the next commit,
	// Flush or Open.
	Follower Follower
	// Logger gets a debug line for each commit, and a line for what a former run
	// left unfinished. No line holds anything of an event. Nil: no lines.
	Logger *slog.Logger
}

// ConfigError says what is wrong with one field of a [Config].
type ConfigError struct {
	Field   string // key in the configuration file: "url", "roll_bytes"
	Problem string // what is wrong
	Hint    string // what to do about it
}

// Error gives field, problem and hint in one line.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("archive: %s: %s; %s", e.Field, e.Problem, e.Hint)
}

// complete returns the Config with its defaults, or every mistake in it.
func (c Config) complete() (Config, error) {
	var r refusals
	r.refuse(c.Dir == "", "url", "is missing", "name the folder of the archive, or s3://bucket/prefix")
	r.refuse(c.RollBytes < 0, "roll_bytes", "is negative", "leave it out for 128 MiB")
	r.refuse(c.RollBytes > mostRollBytes, "roll_bytes", "is more than 1 GiB", "a batch is held in memory: 128 MiB gives good files")
	r.refuse(c.RollEvery < 0, "roll_every", "is negative", "leave it out for 5m")
	r.refuseLevel(c.ZstdLevel)
	c.RollBytes = cmp.Or(c.RollBytes, DefaultRollBytes)
	c.RollEvery = cmp.Or(c.RollEvery, DefaultRollEvery)
	c.ZstdLevel = cmp.Or(c.ZstdLevel, DefaultZstdLevel)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(r...)
}

// refusals collects the mistakes of a configuration, each a [ConfigError].
type refusals []error

func (r *refusals) refuse(wrong bool, field, problem, hint string) {
	if wrong {
		*r = append(*r, &ConfigError{field, problem, hint})
	}
}

func (r *refusals) refuseLevel(level int) {
	r.refuse(level < 0 || level > mostZstdLevel, "zstd_level", "is not between 1 and 22", "leave it out for 1")
}
