package config

import (
	"errors"
	"strings"
	"time"

	"github.com/orderwire/orderwire/sinks/webhook"
)

// CheckWebhook says what is wrong with an endpoint that does not stand in the
// file, by the checks of Load and those of a run. All mistakes that can be told at
// once are joined; each is an [*Error], whose Path is the key ("url").
func (c *Config) CheckWebhook(w *Webhook) error {
	k := &checker{source: &source{}}
	w.check(k, "", c)
	if len(k.mistakes) > 0 {
		for _, mistake := range k.mistakes {
			var e *Error
			if errors.As(mistake, &e) {
				e.Path = strings.TrimPrefix(e.Path, ".")
			}
		}
		return errors.Join(k.mistakes...)
	}
	settings := w.Endpoint(nil)
	return mistakes(settings.Check(time.Now()))
}

// mistakes turns the errors of an endpoint's settings into ours.
func mistakes(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // what was joined is wanted
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, mistakes(one))
		}
		return errors.Join(all...)
	}
	var wrong *webhook.ConfigError
	if errors.As(err, &wrong) {
		return &Error{Path: wrong.Field, What: wrong.Problem, Hint: wrong.Hint}
	}
	return &Error{What: err.Error()}
}
