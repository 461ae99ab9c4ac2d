package config

import (
	"fmt"
	"net"
	"strings"

	"github.com/orderwire/orderwire/sources/postback"
)

func (p *Postback) check(k *checker, c *Config) {
	taking := 0
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.Push {
			taking++
			p.checkAccount(k, fmt.Sprintf("accounts[%d]", i), a)
		}
	}
	if p.Listen == "" {
		return
	}
	k.address("postback.listen", p.Listen)
	if _, port, err := net.SplitHostPort(p.Listen); err == nil && port != "0" && p.Listen == c.HTTP.Listen {
		k.add("postback.listen", "use another port", "%q is the address of http.listen already", p.Listen)
	}
	if taking == 0 {
		k.add("postback.listen", "set push: true on an account, or leave postback out", "no account takes pushes")
	}
	if !postback.ValidPath(p.Path) {
		k.add("postback.path", `segments of letters, digits and ". _ ~ -", such as /push`, "%q is no path that a push can be signed for", p.Path)
	}
}

func (p *Postback) checkAccount(k *checker, path string, a *Account) {
	if a.Name != "" && (strings.Contains(a.Name, "/") || !postback.ValidPath("/"+a.Name)) {
		k.add(path+".name", `letters, digits and ". _ ~ -" for an account with push: true`, "%q cannot stand in an address", a.Name)
	}
	if p.Listen == "" {
		k.add(path+".push", "set postback.listen, such as 127.0.0.1:8081", "the network has no address to push to")
	}
}
