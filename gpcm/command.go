package gpcm

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// stage is when a command may be sent.
type stage uint8

const (
	signedIn stage = iota // with the session key
	before                // before the sign-in
	always
)

// command is one row of the table: the requirements of a command and its
// function.
type command struct {
	name string
	when stage
	keys []string // must be there, if perhaps empty; else: bad
	tail string   // the value of this key runs to the end of the message

	bad   code  // for a request that makes no sense
	fail  code  // code of other errors
	codes codes // for refusals by the accounts that have one; else: fail
	again code  // for a command of before that comes afterwards

	pace   int  // cost for others; a client over its budget waits
	change bool // it changes the store; over the rate it is refused with fail

	// run executes it. A *refusal or an accounts.Refusal is sent to the client,
	// an ended is counted and the connection continues, errLogout and
	// errDeleted end it, any other error is a fault of the server.
	run func(*session, context.Context, *request) error
}

// Costs of commands for other players.
const (
	paceMessage = 1
	paceStatus  = 20
)

// commands returns the table by names.
func commands() map[string]*command {
	rows := []command{
		{name: "ka", when: always, run: (*session).nothing},
		{
			name: "login", when: before, keys: []string{"challenge", "response"}, bad: codeParse, fail: codeLogin,
			codes: loginCodes, again: codeLogin, run: (*session).login,
		},
		{
			name: "newuser", when: before, keys: []string{"email", "nick"}, bad: codeParse, fail: codeNewUser,
			codes: newUserCodes, again: codeNewUser, run: (*session).newUser,
		},
		{name: "logout", when: always, run: (*session).logout},

		{name: "status", fail: codeStatus, pace: paceStatus, run: (*session).setStatus},
		{name: "statusinfo", fail: codeStatus, pace: paceStatus, run: (*session).setRichStatus},
		{name: "quiet", fail: codeStatus, pace: paceStatus, run: (*session).setQuiet},

		{name: "addbuddy", fail: codeAddBuddy, change: true, run: (*session).addBuddy},
		{name: "authadd", fail: codeAuthAdd, change: true, run: (*session).authAdd},
		{name: "delbuddy", fail: codeDelBuddy, change: true, run: (*session).delBuddy},
		{name: "revoke", fail: codeRevoke, change: true, run: (*session).revoke},
		{name: "addblock", fail: codeAddBlock, change: true, run: (*session).addBlock},
		{name: "removeblock", fail: codeRemoveBlock, change: true, run: (*session).removeBlock},

		{name: messageCommand, tail: "msg", fail: codeMessage, pace: paceMessage, run: (*session).message},
		{name: "pinvite", tail: "location", fail: codeMessage, change: true, run: (*session).invite},
		{name: "inviteto", run: (*session).inviteTo},

		{name: "getprofile", fail: codeGetProfile, pace: paceMessage, run: (*session).getProfile},
		{name: "updatepro", fail: codeUpdatePro, codes: updateProCodes, change: true, run: (*session).updateProfile},
		{name: "updateui", fail: codeUpdateUI, codes: updateUICodes, change: true, run: (*session).updateUser},
		{
			name: "newprofile", keys: []string{"nick"}, bad: codeNewProfile, fail: codeNewProfile, codes: newProfileCodes,
			change: true, run: (*session).newProfile,
		},
		{name: "delprofile", fail: codeDelProfile, codes: delProfileCodes, change: true, run: (*session).delProfile},
		{
			name: "registernick", keys: []string{"uniquenick"}, bad: codeRegisterNick, fail: codeRegisterNick,
			codes: registerNickCodes, change: true, run: (*session).registerNick,
		},
		{
			name: "registercdkey", keys: []string{"cdkeyenc"}, bad: codeRegisterKeyBad, fail: codeRegisterKey,
			codes: registerKeyCodes, change: true, run: (*session).registerCDKey,
		},
	}
	table := make(map[string]*command, len(rows))
	for i := range rows {
		table[rows[i].name] = &rows[i]
	}
	return table
}

// handle carries out one message. An error ends the connection.
func (x *session) handle(ctx context.Context, body []byte) error {
	if !x.signedIn {
		if x.early++; x.early > maxBeforeLogin {
			return endedFlood
		}
	}
	var name [16]byte
	c := x.server.commands[string(commandName(name[:0], body))]
	tail := ""
	if c != nil {
		tail = c.tail
	}
	r, err := parseRequest(body, tail)
	switch {
	case errors.Is(err, gamespy.ErrNoFields):
		x.drop(droppedEmpty)
		return nil
	case err != nil:
		return endedMalformed
	case c == nil:
		return x.unknown(r)
	}
	if c.when == before && !r.hasID {
		r.id, r.hasID = loginID, true // clients wait for nothing else
	}
	x.server.metrics.commands.WithLabelValues(c.name).Inc()
	if c.name != messageCommand {
		x.settleDispatched() // commands of a player stay in order
	}
	if err := x.allow(ctx, c, r); err != nil {
		return x.answer(c, r, err)
	}
	return x.answer(c, r, c.run(x, ctx, r))
}

// unknown handles a command that is not in the table.
func (x *session) unknown(r *request) error {
	x.server.metrics.commands.WithLabelValues(unknownCommand).Inc()
	if !x.signedIn {
		return &farewell{&refusal{code: codeNotLoggedIn}, r, endedEarly}
	}
	x.drop(droppedUnknown)
	return nil
}

// allow checks the requirements of a command in the table.
func (x *session) allow(ctx context.Context, c *command, r *request) error {
	switch {
	case c.when == before && x.signedIn:
		return refuse(c.again)
	case c.when == signedIn && !x.signedIn:
		return &farewell{&refusal{code: codeNotLoggedIn}, r, endedEarly}
	case c.when == signedIn && !x.sameKey(r):
		return &farewell{&refusal{code: codeBadSession}, r, endedSessionKey}
	}
	for _, key := range c.keys {
		if _, ok := r.Get(key); !ok {
			return refuse(c.bad)
		}
	}
	if c.change && !x.server.changes.Take(x.profile, time.Now()) {
		x.drop(droppedRate)
		return &refusal{code: c.fail, text: "That was too much at once."}
	}
	if c.pace > 0 {
		return x.slowDown(ctx, c.pace)
	}
	return nil
}

func (x *session) sameKey(r *request) bool {
	n, _ := r.number("sesskey", 0, 1, math.MaxInt32)
	var got, want [4]byte
	binary.BigEndian.PutUint32(got[:], uint32(n))
	binary.BigEndian.PutUint32(want[:], uint32(x.key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// slowDown makes a client wait that spends too much.
func (x *session) slowDown(ctx context.Context, cost int) error {
	if x.pace == nil {
		x.pace = rate.NewLimiter(paceRate, paceBurst)
	}
	wait := x.pace.ReserveN(time.Now(), cost).Delay()
	if wait == 0 {
		return nil
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	case <-x.kicked:
	}
	return nil // the end of the session is checked before the next command
}

// answer sends the client the error of a command, if that is one for it. An error
// that it returns ends the connection.
func (x *session) answer(c *command, r *request, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*farewell](err); ok {
		return err
	}
	if why, ok := errors.AsType[ended](err); ok {
		x.drop(why)
		return nil
	}
	switch {
	case errors.Is(err, errLogout), errors.Is(err, errDeleted), errors.Is(err, errGone):
		return err
	case errors.Is(err, context.Canceled): // ours: nothing else cancels
		return errShutdown
	}
	return x.reply(r, x.told(c, err))
}

// told returns the refusal that the client is sent for an error.
func (x *session) told(c *command, err error) *refusal {
	if why, ok := errors.AsType[*refusal](err); ok {
		return why
	}
	if why := refusalOf(err, c.codes, c.fail); why != nil {
		return why
	}
	x.server.trouble.Line(fault.Log(x.server.opt.Log, err)).Err(err).Str("command", c.name).Uint32("profile", uint32(x.profile)).
		Msg("command not carried out")
	if away(err) && x.signedIn && c.fail != 0 {
		return &refusal{code: c.fail, text: texts[codeDatabase]} // the session continues while the database is away
	}
	return &refusal{code: codeDatabase}
}

// away reports whether an error is that of a database that cannot be used now, or did not
// answer in time.
func away(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// reply sends a refusal. If it is fatal it is returned as the end.
func (x *session) reply(r *request, why *refusal) error {
	if why.code.fatal() {
		return &farewell{refusal: why, request: r}
	}
	x.server.metrics.refused(why.code)
	x.out.push(item{line: appendError(nil, why, r)})
	return nil
}

// nothing is the command ka.
func (x *session) nothing(context.Context, *request) error { return nil }

// logout is the command of that name.
func (x *session) logout(_ context.Context, r *request) error {
	if x.signedIn && !x.sameKey(r) {
		return &farewell{&refusal{code: codeBadSession}, r, endedSessionKey}
	}
	return errLogout
}
