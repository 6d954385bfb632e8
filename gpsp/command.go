package gpsp

import (
	"context"
	"errors"
	"time"
)

// command is one row of the table of commands.
type command struct {
	name  string
	quota quota
	// serve writes the reply. A *refusal is sent to the client, any other error
	// is a fault of the server.
	serve func(*Server, context.Context, *request, *reply) error
	// key and first are set for commands whose reply contains the code: its
	// key, and the code of other errors.
	key   string
	first code
}

// commands returns the table. A command without serve is not answered.
func commands() []command {
	return []command{
		{name: "valid", quota: emailLookup, serve: (*Server).valid},
		{name: "nicks", quota: lookup, serve: (*Server).nicks},
		{name: "check", quota: lookup, serve: (*Server).check, key: "cur", first: codeCheck},
		{name: "newuser", quota: registration, serve: (*Server).newUser, key: "nur", first: codeNewUser},
		{name: "search", quota: lookup, serve: (*Server).search},
		{name: "searchunique", quota: lookup, serve: (*Server).searchUnique},
		{name: "uniquesearch", quota: lookup, serve: (*Server).suggest},
		{name: "pmatch", quota: lookup, serve: (*Server).match},
		{name: "others", quota: lookup, serve: (*Server).others},
		{name: "otherslist", quota: lookup, serve: (*Server).othersList},
		{name: "profilelist", quota: lookup, serve: (*Server).profileList},
		{name: "ka"},
	}
}

// commandsByName returns the table by folded names.
func commandsByName() map[string]command {
	table := make(map[string]command)
	for _, c := range commands() {
		table[c.name] = c
	}
	return table
}

// maxWork is the maximum duration of a request, also while the service stops.
const maxWork = 20 * time.Second

// perform carries out a command and writes the reply, which may be an error.
func (s *Server) perform(ctx context.Context, c *command, r *request, w *reply) (result string, err error) {
	if why := s.take(c.quota, r, time.Now()); why != notDropped {
		s.opt.Metrics.Drop(why.Error())
		c.refuse(w, &refusal{codeSearch, "too many requests, try again in a minute"})
		return resultLimited, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWork)
	defer cancel()
	err = c.serve(s, ctx, r, w)
	if err == nil {
		return resultAnswered, nil
	}
	if why, ok := errors.AsType[*refusal](err); ok {
		c.refuse(w, why)
		return resultRefused, nil
	}
	c.refuse(w, &refusal{codeDatabase, "the request cannot be answered now"})
	return resultError, err
}

func (c *command) refuse(w *reply, why *refusal) {
	if c.key == "" {
		w.failure(why.code, why.text)
		return
	}
	w.b = w.b[:0]
	if why.code > c.first && why.code < c.first+256 { // one of its own codes
		w.number(c.key, int64(why.code))
		return
	}
	w.number(c.key, int64(c.first))
}
