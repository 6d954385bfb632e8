package gpsp

import (
	"context"
	"net/netip"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// request is one request with the data of its sender.
type request struct {
	gamespy.Message
	from netip.Addr
	live *live
}

// get returns a value, "" if it is missing.
func (r *request) get(key string) string {
	v, _ := r.Get(key)
	return v
}

// number returns a number of 32 bits; 0 if it is missing or empty.
func (r *request) number(key string) (int, error) {
	v := strings.TrimSpace(r.get(key))
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return 0, errMalformed()
	}
	return int(n), nil
}

// count is number for values that are never negative.
func (r *request) count(key string) (int, error) {
	n, err := r.number(key)
	if err == nil && n < 0 {
		return 0, errMalformed()
	}
	return n, err
}

// asker returns the profile of the sign-in in the request. Refusals: not logged
// in, bad session.
func (s *Server) asker(ctx context.Context, r *request) (storage.ProfileID, error) {
	key, err := r.number("sesskey")
	if err != nil {
		return 0, errBadSession()
	}
	id, err := r.number("profileid")
	switch {
	case err != nil || id < 0:
		return 0, errBadSession()
	case id == 0 || key == 0:
		return 0, errNotLoggedIn()
	case !s.opt.Hub.CheckKey(ctx, storage.ProfileID(id), int32(key)):
		return 0, errBadSession()
	}
	return storage.ProfileID(id), nil
}

// optionalAsker is asker for requests that need no sign-in: 0 if there is none.
// In private they need one.
func (s *Server) optionalAsker(ctx context.Context, r *request) (storage.ProfileID, error) {
	id, err := s.asker(ctx, r)
	if err != nil && !r.live.Private {
		return 0, nil
	}
	return id, err
}
