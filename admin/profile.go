package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/url"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/operator"
)

const (
	// profilePrefix precedes the path that package net/http/pprof expects.
	profilePrefix = "/api/v1"
	// profilePath is the path of all profiles.
	profilePath = profilePrefix + "/debug/pprof/{profile...}"
	// maxProfile bounds the time of a profile, in seconds.
	maxProfile = 300
	// maxProfiles bounds the profiles that are taken at a time.
	maxProfiles = 4
)

var (
	errNoProfiles = errors.New("profiles are off: set admin.pprof")
	errProfiles   = fmt.Errorf("%d profiles are taken already", maxProfiles)
)

// getProfile answers with a profile of the running program, as [pprof.Index] has
// them. It is a stream: profiles over a time are not whole before its end.
func (s *Server) getProfile(w http.ResponseWriter, r *http.Request) {
	if !s.opt.Config.Pprof {
		writeError(w, http.StatusNotFound, errNoProfiles)
		return
	}
	length, err := profileLength(r.URL.Query())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	select {
	case s.profiles <- struct{}{}:
		defer func() { <-s.profiles }()
	default:
		s.metrics.refuse(refusedProfiles)
		writeError(w, http.StatusServiceUnavailable, errProfiles)
		return
	}
	c := http.NewResponseController(w) // test writers have no deadlines
	_ = c.SetReadDeadline(time.Time{}) // its passing would end the profile
	_ = c.SetWriteDeadline(time.Now().Add(length + writeTimeout))
	w.Header().Set("Cache-Control", "no-store")
	profile := http.HandlerFunc(pprof.Index)
	switch r.PathValue("profile") {
	case "profile":
		profile = pprof.Profile
	case "trace":
		profile = pprof.Trace
	case "cmdline", "symbol": // neither is a profile
		writeError(w, http.StatusNotFound, errNoSuchPath)
		return
	}
	http.StripPrefix(profilePrefix, profile).ServeHTTP(w, r)
}

// profileLength returns how long a profile takes.
func profileLength(q url.Values) (time.Duration, error) {
	const usual = 30 // seconds of a CPU profile without a parameter
	text := q.Get("seconds")
	if text == "" {
		return usual * time.Second, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || n > maxProfile {
		return 0, fmt.Errorf("%w: seconds is not a number from 1 to %d", operator.ErrBadRequest, maxProfile)
	}
	return time.Duration(n) * time.Second, nil
}
