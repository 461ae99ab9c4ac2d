//go:build unix

package gatewaytest

import "syscall"

// Pause stops the store in the middle of whatever it does. Connections to it stay
// open and nobody answers.
func (g *Gateway) Pause() error { return g.process.Process.Signal(syscall.SIGSTOP) }

// Unpause lets a paused store go on as if nothing had been.
func (g *Gateway) Unpause() error { return g.process.Process.Signal(syscall.SIGCONT) }
