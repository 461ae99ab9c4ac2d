package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/schema"
)

func (s *service) list(w http.ResponseWriter, r *http.Request) error {
	if err := parameters(r).err; err != nil {
		return err
	}
	all, err := s.Webhooks.List(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		Webhooks []endpoints.View `json:"webhooks"`
	}{some(all)})
}

// some is a list that is [] in JSON when it is empty.
func some[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (s *service) get(w http.ResponseWriter, r *http.Request) error {
	if err := parameters(r).err; err != nil {
		return err
	}
	v, err := s.Webhooks.Get(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, v)
}

// addition is a new endpoint, and where it begins.
type addition struct {
	endpoints.Definition
	Start *start `json:"start"`
}

// start has one field at most; none: with the event that comes next.
type start struct {
	First    bool      `json:"first"`
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"`
}

func (s *service) add(w http.ResponseWriter, r *http.Request) error {
	var a addition
	if err := read(w, r, &a); err != nil {
		return err
	}
	if !a.Created.IsZero() {
		return malformed("created cannot be set", "leave it out")
	}
	var from endpoints.Start
	if a.Start != nil {
		from = endpoints.Start(*a.Start)
	}
	if given := truth(from.First) + truth(from.Sequence > 0) + truth(!from.Time.IsZero()); given > 1 {
		return malformed("start says several things", "give first, sequence or time")
	}
	secret, err := s.Webhooks.Add(r.Context(), a.Definition, from)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/webhooks/"+url.PathEscape(a.Name))
	return reply(w, http.StatusCreated, secret)
}

func truth(v bool) int {
	if v {
		return 1
	}
	return 0
}

func (s *service) remove(w http.ResponseWriter, r *http.Request) error {
	if err := s.Webhooks.Remove(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *service) pause(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Reason string `json:"reason"`
	}
	if err := read(w, r, &asked); err != nil {
		return err
	}
	if err := s.Webhooks.Pause(r.Context(), r.PathValue("name"), asked.Reason); err != nil {
		return err
	}
	return s.get(w, r)
}

func (s *service) resume(w http.ResponseWriter, r *http.Request) error {
	if err := read(w, r, &struct{}{}); err != nil {
		return err
	}
	if err := s.Webhooks.Resume(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	return s.get(w, r)
}

func (s *service) rotate(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Keep    config.Duration `json:"keep"`         // 0 or absent: a day
		Until   bool            `json:"until_finish"` // keep the old secret until the rotation is finished
		Finish  bool            `json:"finish"`
		Ed25519 bool            `json:"ed25519"`
	}
	if err := read(w, r, &asked); err != nil {
		return err
	}
	if given := truth(asked.Keep > 0) + truth(asked.Until) + truth(asked.Finish); given > 1 || asked.Finish && asked.Ed25519 {
		return malformed("the request says several things", "give keep or until_finish for a new secret, or finish to end the old ones")
	}
	o := endpoints.RotateOptions{Keep: time.Duration(asked.Keep), Finish: asked.Finish, Ed25519: asked.Ed25519}
	if asked.Until {
		o.Keep = -1
	}
	secret, err := s.Webhooks.Rotate(r.Context(), r.PathValue("name"), o)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, secret)
}

func (s *service) test(w http.ResponseWriter, r *http.Request) error {
	if err := read(w, r, &struct{}{}); err != nil {
		return err
	}
	result, err := s.Webhooks.Test(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, result)
}

func (s *service) release(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Account string `json:"account"`
		Program string `json:"program"`
		Order   string `json:"order"`
		Skip    bool   `json:"skip"`
	}
	if err := read(w, r, &asked); err != nil {
		return err
	}
	if asked.Account == "" || asked.Order == "" {
		return malformed("the order is not named", "give account, program and order")
	}
	key := schema.OrderKey{Account: asked.Account, Program: asked.Program, OrderSn: asked.Order}
	if err := s.Webhooks.Release(r.Context(), r.PathValue("name"), key, asked.Skip); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
