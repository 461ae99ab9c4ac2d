package gatewaytest

import "syscall"

// endsWithParent has the kernel kill the store when the test's process dies, as
// one that exceeds its time limit does without running anything more.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
