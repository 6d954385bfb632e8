package nas

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Namespace is the one of the unique nicks of consoles.
const Namespace = 16

// maxUserID is the first number that is not a user id of a console.
const maxUserID = 1 << 43

// Return codes.
const (
	codeSignedIn  = "001"
	codeCreated   = "002"
	codeLocated   = "007"
	codeFailed    = "101"
	codeBadField  = "103"
	codeTooMany   = "106"
	codeDeleted   = "108"
	codeBadAction = "109"
	codeBanned    = "3914"
)

// ac answers a request for /ac.
func (r *Backend) ac(w http.ResponseWriter, req *http.Request, q *soap.Request, f Form) {
	action, ok := f.Text("action")
	switch strings.ToLower(action) {
	case "acctcreate":
		r.done(requestCreate, resultOK)
		answer(w, append(reply(codeCreated, "0"), Field{"userid", strconv.AppendUint(nil, newUserID(), 10)}))
	case "login":
		answer(w, r.login(req.Context(), q, f))
	case "svcloc":
		r.done(requestLocate, resultOK)
		answer(w, locate(q.Host, f))
	default:
		r.done(requestOther, resultUnknown)
		if ok {
			r.unknown(q, q.Host+q.Path+" "+action)
		}
		answer(w, reply(codeBadAction, "0"))
	}
}

func newUserID() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		if id := binary.BigEndian.Uint64(b[:]) % maxUserID; id > 0 {
			return id
		}
	}
}

// locate answers svcloc.
func locate(host string, f Form) Form {
	key, at := "servicetoken", "n/a"
	switch string(f.Value("svc")) {
	case "9000":
		key, at = "token", downloadHost(host)
	case "9001":
		at = downloadHost(host)
	}
	// Nothing asks for the token again.
	return append(reply(codeLocated, "0"), Field{"statusdata", []byte("Y")}, Field{key, []byte("NDS" + rand.Text())}, Field{"svchost", []byte(at)})
}

// downloadHost returns the host of files beside the one that was asked.
func downloadHost(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return hostDownloads + "." + domain
}

// console is a console that signs in.
type console struct {
	user     uint64
	game     string // code of four letters and digits
	brand    string // of the game in all regions that play together
	hardware string // address; may be empty
	wii      bool
	name     string // of the player
}

// Bounds of fields.
const (
	gameLen     = 4
	maxBrand    = 8
	maxHardware = 32
	maxName     = 64   // bytes of UTF-16
	maxCFC      = 1e16 // first number that no Wii has
)

// readConsole reads a login. bad is the field that is missing or wrong, empty if none is.
func readConsole(f Form) (c console, bad string) {
	for _, field := range []struct {
		name string
		read func() bool
	}{
		{"unitcd", func() bool { return c.readUnit(f) }},
		{"userid", func() bool { return c.readUser(f) }},
		{"gamecd", func() bool { return c.readGame(f) }},
		{"gsbrcd", func() bool { return c.readBrand(f) }},
		{"macadr", func() bool { return c.readHardware(f) }},
		{"lang", func() bool { return isHexByte(f, "lang") }},
		{"region", func() bool { return isHexByte(f, "region") }},
		{"cfc", func() bool { return isCFC(f) }},
		{"devname", func() bool { return c.readName(f, "devname") }},
		{"ingamesn", func() bool { return c.readName(f, "ingamesn") }},
	} {
		if !field.read() {
			return c, field.name
		}
	}
	return c, ""
}

func (c *console) readUnit(f Form) bool {
	unit := string(f.Value("unitcd"))
	c.wii = unit != "0"
	return unit == "0" || unit == "1" || !f.Has("unitcd")
}

func (c *console) readUser(f Form) bool {
	text, _ := f.Text("userid")
	id, err := strconv.ParseUint(text, 10, 64)
	c.user = id
	return err == nil && id > 0 && id < maxUserID
}

func (c *console) readGame(f Form) bool {
	text, _ := f.Text("gamecd")
	c.game = text
	return isGameCode(text)
}

func (c *console) readBrand(f Form) bool {
	text, ok := f.Text("gsbrcd")
	if text == "" {
		text = c.game[:gameLen-1] + "J"
	}
	c.brand = text
	return ok && isCode(text) && len(text) >= gameLen && len(text) <= maxBrand
}

func (c *console) readHardware(f Form) bool {
	text, ok := f.Text("macadr")
	c.hardware = strings.ToLower(text)
	return ok && len(text) <= maxHardware
}

// readName reads a name. The later one is that of the player, the earlier of the console.
func (c *console) readName(f Form, field string) bool {
	v := f.Value(field)
	if len(v) > maxName {
		return false
	}
	name, err := decodeUTF16(v, orderOf(c.wii))
	if name = upToZero(name); name != "" {
		c.name = name
	}
	return err == nil
}

// isHexByte reports whether a field is missing or a byte in hex.
func isHexByte(f Form, name string) bool {
	v, err := hex.DecodeString(string(f.Value(name)))
	return err == nil && len(v) == 1 || !f.Has(name)
}

// isCFC reports whether the number of a Wii is missing or possible.
func isCFC(f Form) bool {
	n, err := strconv.ParseUint(string(f.Value("cfc")), 10, 64)
	return err == nil && n < maxCFC || !f.Has("cfc")
}

func isGameCode(s string) bool { return len(s) == gameLen && isCode(s) }

// isCode reports whether a text has letters and digits only.
func isCode(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !isAlnum(c) })
}

// variant returns the text that distinguishes accounts of one user id.
func (c *console) variant(hardware bool) string {
	if !hardware {
		return strings.ToLower(c.brand)
	}
	sum := sha256.Sum256([]byte(c.hardware))
	return strings.ToLower(c.brand) + "-" + hex.EncodeToString(sum[:4])
}

// nick returns the nick of an account: other players see it, so it does not show the user
// id.
func (c *console) nick(variant string) string {
	const digits = 8
	sum := sha256.Sum256([]byte(strconv.FormatUint(c.user, 10) + " " + variant))
	return "n" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:digits]) + strings.ToUpper(c.brand)
}

// player returns the owner of the console's account.
func (c *console) player(hardware bool) accounts.ConsolePlayer {
	variant := c.variant(hardware)
	return accounts.ConsolePlayer{Console: "nds", ID: c.user, Variant: variant, Nick: c.nick(variant), Namespace: Namespace}
}

// AccountOf returns the e-mail address of the account that a login is for; ok is false if
// the form is not a login.
func (c *ConsoleConfig) AccountOf(login Form) (email string, ok bool) {
	from, bad := readConsole(login)
	if bad != "" {
		return "", false
	}
	player := from.player(c.NASHardware)
	return player.Email(), true
}

// String returns the console as operators see it.
func (c *console) String() string {
	kind := "DS"
	if c.wii {
		kind = "Wii"
	}
	text := kind + ", game " + c.game
	if c.name != "" {
		text += ", " + c.name
	}
	return text
}

// login signs a console in.
func (r *Backend) login(ctx context.Context, q *soap.Request, f Form) Form {
	c, bad := readConsole(f)
	if bad != "" {
		r.done(requestLogin, resultBadField)
		r.note(q, verdicts.MalformedRequest, "/ac login: "+bad)
		return reply(codeBadField, "0")
	}
	token, err := r.signIn(ctx, q, &c)
	if err != nil {
		return r.refused(q, &c, err)
	}
	r.done(requestLogin, resultOK)
	r.note(q, verdicts.ConsoleSignedIn, c.String())
	return append(reply(codeSignedIn, "0"), Field{"locator", []byte("gamespy.com")},
		Field{"challenge", []byte(token.Challenge)}, Field{"token", []byte(token.Value)})
}

// errClosed refuses a console that has no account.
var errClosed = errors.New("new consoles are not accepted")

// signIn returns a token for the profile of a console, and makes the account if there is
// none.
func (r *Backend) signIn(ctx context.Context, q *soap.Request, c *console) (token accounts.Token, err error) {
	live, player, closed := r.config.Load(), c.player(r.opt.Config.NASHardware), false
	player.From = q.From.Addr()
	player.MayRegister = func() bool {
		closed = !live.NASNewConsoles
		return !closed && (r.opt.MayRegister == nil || r.opt.MayRegister(player.From))
	}
	p, made, err := r.opt.Users.Console(ctx, player)
	switch {
	case closed:
		return token, errClosed
	case err != nil:
		return token, err
	case made:
		r.note(q, verdicts.AccountMade, c.String())
	}
	return r.opt.Grants.IssueConsoleToken(p.ID)
}

// refused answers a login that failed with err.
func (r *Backend) refused(q *soap.Request, c *console, err error) Form {
	code, retry, result, reason := codeFailed, "1", resultFailed, ""
	v, known := accounts.VerdictOn(err)
	switch {
	case errors.Is(err, errClosed):
		code, result, reason, v, known = codeBanned, resultClosed, err.Error(), verdicts.ConsoleRefused, true
	case errors.Is(err, accounts.ErrBanned):
		code, result, reason = codeBanned, resultBanned, "this console is banned"
	case errors.Is(err, accounts.ErrThrottled):
		code, result = codeTooMany, resultThrottled
	case errors.Is(err, accounts.ErrProfileDeleted):
		code, retry, result = codeDeleted, "0", resultDeleted
	case known:
		code, retry, result = codeBadField, "0", resultBadField
	default:
		r.faults.Line(fault.Log(r.opt.Log, err)).Err(err).Msg("a console was not signed in")
	}
	r.done(requestLogin, result)
	if known {
		r.note(q, v, c.String())
	}
	out := reply(code, retry)
	if reason != "" {
		out = append(out, Field{"reason", []byte(reason)})
	}
	return out
}
