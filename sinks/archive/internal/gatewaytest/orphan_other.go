//go:build !linux

package gatewaytest

import "syscall"

// endsWithParent has no way to do so on this system.
func endsWithParent() *syscall.SysProcAttr { return nil }
