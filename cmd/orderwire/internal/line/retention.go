package line

import (
	"fmt"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
)

// retention is what every sink knows of how far back the log reaches.
func (l *Line) retention(c *config.Config, fresh bool, hint func(from, until uint64) string) pipeline.Retention {
	return pipeline.Retention{First: l.orders.First, Skip: c.NATS.SkipAgedOut, Fresh: fresh, Hint: hint}
}

// archiveRetention: what the archive has not taken, nobody has.
func (l *Line) archiveRetention(c *config.Config) pipeline.Retention {
	return l.retention(c, true, func(_, until uint64) string {
		return fmt.Sprintf("the archive goes on without them when nats.skip_aged_out is %d", until)
	})
}

// commissionRetention: sums without the first events would be wrong, so new
// books have to begin with them.
func (l *Line) commissionRetention(c *config.Config) pipeline.Retention {
	return l.retention(c, false, func(_, until uint64) string {
		return fmt.Sprintf("stop this process and run `orderwire replay -c %s --to commission`, which takes them from the archive; "+
			"the sums go on without them when nats.skip_aged_out is %d", c.File(), until)
	})
}

// webhookRetention: an endpoint's new events wait, because they would come
// before older ones of their orders.
func (l *Line) webhookRetention(c *config.Config, name string) pipeline.Retention {
	return l.retention(c, true, func(from, until uint64) string {
		return fmt.Sprintf("`orderwire replay -c %s --to webhook=%s --from %d --until %d` delivers them from the archive; "+
			"the endpoint goes on behind them when nats.skip_aged_out is %d", c.File(), name, from, until, until)
	})
}
