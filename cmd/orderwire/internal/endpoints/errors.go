package endpoints

import (
	"errors"
	"fmt"
)

// Errors of a [Manager]. Mistakes in a definition are [config.Error] instead,
// joined.
var (
	// ErrUnknown says that there is no endpoint of that name.
	ErrUnknown = errors.New("there is no such endpoint (see `orderwire webhook list`)")
	// ErrExists says that the name is in use.
	ErrExists = errors.New("an endpoint of this name exists already")
	// ErrFromFile says that the endpoint stands in the configuration file, where
	// only an editor changes it.
	ErrFromFile = errors.New("the endpoint stands in the configuration file")
	// ErrBusy says that somebody else adds or removes an endpoint of that name at
	// the moment, or was cut off at it less than a minute ago.
	ErrBusy = errors.New("it is being added or removed at this moment; try again in a minute")
	// ErrNotRunning says that no process delivers to the endpoint at present.
	ErrNotRunning = errors.New("no process delivers to this endpoint at present: start `orderwire run`")
	// ErrStart says that an endpoint cannot begin where it was asked to.
	ErrStart = errors.New("it cannot begin there")
)

func of(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("webhook %s: %w", name, err)
}
