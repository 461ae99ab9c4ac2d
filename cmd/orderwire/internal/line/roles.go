package line

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of the line that a process can run alone.
type Role string

// The roles.
const (
	Poll       Role = "poll"
	Archive    Role = "archive"
	Webhook    Role = "webhook"
	Commission Role = "commission"
)

// AllRoles lists every role.
func AllRoles() []Role { return []Role{Poll, Archive, Webhook, Commission} }

// ParseRoles reads a comma-separated list of roles; empty text means all.
func ParseRoles(s string) ([]Role, error) {
	if s == "" {
		return AllRoles(), nil
	}
	var roles []Role
	for name := range strings.SplitSeq(s, ",") {
		r := Role(strings.TrimSpace(name))
		if !slices.Contains(AllRoles(), r) {
			return nil, fmt.Errorf("there is no role %q; known are poll, archive, webhook and commission", r)
		}
		roles = append(roles, r)
	}
	return roles, nil
}
