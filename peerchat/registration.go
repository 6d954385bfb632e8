package peerchat

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

const (
	// nickSuffix is appended to a unique nick to make a nick of it.
	nickSuffix = "-gs"
	// ownNick stands for the nick that the service makes of the unique nick.
	ownNick = "*"
	// maxUserField and maxRealName are how much is kept, in bytes.
	maxUserField = 64
	maxRealName  = 128
	// suggestions is the number of unique nicks that are offered in place of a
	// taken one.
	suggestions = 3
	// maskedBytes is the number of bytes of a hash that stand for an address.
	maskedBytes = 6
)

// login is the identity that a login establishes. It is immutable.
type login struct {
	account    storage.UserID
	profile    storage.ProfileID // 0: no account
	uniqueNick string            // empty: none in the namespace of the login
	namespace  int
}

// crypt switches to ciphers of both directions.
func (x *session) crypt(_ context.Context, m *message) error {
	game, known := x.server.opt.Games.Lookup(storage.Fold(m.params[2]))
	switch {
	case x.secure || x.profile != 0 || x.wanted != (wanted{}):
		return endedCrypt
	case !known || game.Secret() == "":
		x.game = m.params[2]
		return endedUnknownGame
	}
	fromClient, toClient := newChallenge(), newChallenge()
	line := appendEnd(appendNumeric(nil, numChallenges, "*", fromClient, toClient))
	if err := x.write(line); err != nil {
		return errGone
	}
	x.game, x.secret, x.secure = game.Name, game.Secret(), true
	x.outCipher = newCipher(toClient, x.secret)
	x.in.encrypt(newCipher(fromClient, x.secret))
	return nil
}

// newChallenge returns a random text of letters and digits.
func newChallenge() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	const fair = 256 / len(letters) * len(letters)
	out := make([]byte, 0, challengeLen)
	for len(out) < challengeLen {
		var b [challengeLen]byte
		_, _ = rand.Read(b[:]) // never fails
		for _, c := range b {
			if int(c) < fair && len(out) < challengeLen {
				out = append(out, letters[int(c)%len(letters)])
			}
		}
	}
	return string(out)
}

// logIn is the command LOGIN, with a unique nick or with nick and e-mail.
func (x *session) logIn(ctx context.Context, m *message) error {
	namespace, err := strconv.Atoi(m.params[0])
	if err != nil || namespace < 0 || namespace > storage.MaxAccountID {
		return x.refuseLogin(accounts.ErrMalformed)
	}
	p := accounts.Proof{Namespace: namespace, Digest: m.params[2], From: x.peer.Addr()}
	if m.params[1] == "*" {
		p.User = m.param(3)
	} else {
		p.UniqueNick = m.params[1]
	}
	return x.checkLogin(ctx, p)
}

// logInPreAuth is the command LOGINPREAUTH, with a token of another service.
func (x *session) logInPreAuth(ctx context.Context, m *message) error {
	return x.checkLogin(ctx, accounts.Proof{
		Token: m.params[0], Digest: m.params[1], Namespace: defaultNamespace, From: x.peer.Addr(),
	})
}

// defaultNamespace is the namespace of logins that name none.
const defaultNamespace = 1

// checkLogin signs in a client with valid credentials. It attaches first and looks at
// the account then: one that was banned or deleted or got another password meanwhile
// is refused.
func (x *session) checkLogin(ctx context.Context, p accounts.Proof) error {
	if x.profile != 0 {
		return x.refuseLogin(accounts.ErrMalformed)
	}
	l, err := x.server.opt.Accounts.SignIn.CheckProof(ctx, p)
	if err != nil {
		return x.refuseLogin(err)
	}
	x.login = login{account: l.User, profile: l.Profile.ID, uniqueNick: l.UniqueNick, namespace: p.Namespace}
	if banned, _ := x.server.sanctioned(x, ""); banned {
		return endedBanned
	}
	if x.server.opt.Attach != nil {
		x.detach = x.server.opt.Attach(x)
	}
	if err := x.server.opt.Accounts.SignIn.Recheck(ctx, &l); err != nil {
		if x.detach != nil {
			x.detach()
		}
		x.detach, x.login = nil, login{}
		return x.refuseLogin(err)
	}
	x.server.metrics.logins.WithLabelValues(loginAccepted).Inc()
	x.noteVerdict(verdicts.SignedIn)
	x.conn.SetState(netserve.StateIdle)
	nick := l.UniqueNick
	if nick == "" {
		nick = "*"
	}
	return x.sendNow(appendEnd(appendNumeric(nil, numLogin, nick, formatID(uint32(l.User)), formatID(uint32(l.Profile.ID)))))
}

func formatID(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// refuseLogin answers a login that failed.
func (x *session) refuseLogin(err error) error {
	x.server.metrics.logins.WithLabelValues(loginRefused).Inc()
	why, refused := errors.AsType[accounts.Refusal](err)
	text := "Login failed"
	switch {
	case refused:
		text = "Login failed: " + why.Error()
		if v, ok := accounts.VerdictOn(err); ok {
			x.noteVerdict(v)
		}
	case errors.Is(err, context.Canceled):
		return err
	default:
		fault.Log(x.server.opt.Log, err).Err(err).Msg("login not checked")
	}
	if x.failedLogins++; x.failedLogins >= maxLogins {
		return endedLogins
	}
	return x.sendNow(appendText(appendNumeric(nil, numLoginFailed, "*"), text))
}

// registerNick is the command of that name: it gives a profile that has none its
// unique nick and signs the client on with it.
func (x *session) registerNick(ctx context.Context, m *message) error {
	namespace, err := strconv.Atoi(m.params[0])
	if err != nil || x.profile == 0 {
		return x.sendNow(appendText(appendNumeric(nil, numNickSuggestion, "*", "0", `\`), "Log in first"))
	}
	p, err := x.server.opt.Accounts.Profiles.RegisterNick(ctx, x.profile, namespace, m.params[1])
	if why, refused := errors.AsType[accounts.Refusal](err); refused {
		return x.suggest(ctx, namespace, m.params[1], why)
	}
	if err != nil {
		fault.Log(x.server.opt.Log, err).Err(err).Msg("unique nick not registered")
		return x.sendNow(appendText(appendNumeric(nil, numNickSuggestion, "*", "0", `\`), "Database error"))
	}
	x.uniqueNick, x.namespace = p.UniqueNickIn(namespace), namespace
	return x.server.hall.act(x, func() error { return x.want(ownNick) })
}

// suggest refuses a unique nick and offers others.
func (x *session) suggest(ctx context.Context, namespace int, wish string, why accounts.Refusal) error {
	others, err := x.server.opt.Accounts.Profiles.Suggest(ctx, namespace, wish, suggestions)
	if err != nil {
		others = nil
	}
	list := `\` + strings.Join(others, `\`)
	return x.sendNow(appendText(appendNumeric(nil, numNickSuggestion, "*", strconv.Itoa(len(others)), list), why.Error()))
}

// userHost sends a client its public address. Clients read the text after the
// last @, and before the sign-on expect an empty target.
func (x *session) userHost(_ context.Context, m *message) error {
	u := x.user
	if u == nil {
		x.reply = appendText(appendNumeric(x.reply, numUserHost, ""), "=+@"+x.ownAddress())
		return nil
	}
	of, clear := u, true
	if nick := m.param(0); nick != "" && foldNick(nick) != foldNick(u.nick) {
		if of, clear = x.server.hall.nicks[foldNick(nick)], false; of == nil {
			x.answer(numUserHost, "")
			return nil
		}
	}
	x.answer(numUserHost, of.nick+"="+of.hostSign()+of.field+"@"+of.hostFor(clear))
	return nil
}

// ownAddress returns the public address of the client, see Server.given.
func (x *session) ownAddress() string { return x.server.given(x.peer.Addr()).String() }

// setUser is the command USER.
func (x *session) setUser(_ context.Context, m *message) error {
	field := cleanField(m.params[0])
	if field == "" {
		x.answer(numNeedMoreParams, "Not enough parameters", m.command)
		return nil
	}
	if ip, pid, ok := decodeUser(field); ok && x.profile != 0 && pid != uint32(x.profile) {
		field = encodeUser(ip, uint32(x.profile)) // not as another player
	} else if ok && !x.program && x.server.opt.Games.QuickMatchProfile(pid) {
		field = encodeUser(ip, 0) // not as the program that brings players together
	}
	x.wanted.userField, x.wanted.realName = field, cut(m.params[3], maxRealName)
	return x.signOn()
}

// cleanField returns a USER field without characters that would end it in a
// prefix.
func cleanField(s string) string {
	b := []byte(s)
	b = slices.DeleteFunc(b, func(c byte) bool { return c <= ' ' || c == '!' || c == '@' || c == ':' || c == 0x7f })
	return string(b[:min(len(b), maxUserField)])
}

// cut returns at most n bytes of s. They do not keep the rest.
func cut(s string, n int) string {
	if len(s) > n {
		return strings.Clone(s[:n])
	}
	return s
}

// setNick is the command NICK.
func (x *session) setNick(_ context.Context, m *message) error {
	nick := m.param(0)
	switch {
	case nick == "":
		x.answer(numNoNickGiven, "No nickname given")
		return nil
	case x.user == nil:
		return x.want(nick)
	case nick == x.user.nick:
		return nil
	case !x.mayTake(nick):
		return nil
	case !x.user.mayRename(nick):
		x.answer(numNickInUse, "You had too many nicks. Connect again to get another one", nick)
		return nil
	}
	x.changeNick(nick)
	return nil
}

// want records the nick that the client requests.
func (x *session) want(nick string) error {
	if nick == ownNick {
		if x.uniqueNick == "" {
			x.answer(numNoUniqueNick, "No unique nick")
			return nil
		}
		nick = x.ownNick()
	}
	if !x.mayTake(nick) {
		return nil
	}
	x.wanted.nick = nick
	return x.signOn()
}

// ownNick returns the nick that belongs to the client's unique nick.
func (x *session) ownNick() string { return x.uniqueNick + nickSuffix }

// mayTake reports whether the client may have a nick, and answers with the
// reason if not. A session of the same player that has it is closed. The
// client's own nick may also be that of another player, with the same unique
// nick in another namespace.
func (x *session) mayTake(nick string) bool {
	own := x.uniqueNick != "" && foldNick(nick) == foldNick(x.ownNick())
	if !own && !validNick(nick) {
		x.answer(numBadNick, "Erroneous nickname", nick)
		return false
	}
	if x.bannedNick(nick) {
		x.answer(numBadNick, "This nickname is banned", nick)
		return false
	}
	holder := x.server.hall.nicks[foldNick(nick)]
	if !x.program && (serviceNicks[foldNick(nick)] || x.server.opt.Games.QuickMatchNick(nick)) {
		x.answer(numNickInUse, "Nickname is already in use", nick)
		return false
	}
	if x.denied != "" && x.denied == foldNick(nick) {
		x.answer(numNickInUse, "Nickname is already in use", nick)
		return false
	}
	reserved := strings.HasSuffix(foldNick(nick), nickSuffix) // for players with that unique nick
	switch {
	case holder == nil && (own || !reserved), holder != nil && holder == x.user:
		return true
	case holder != nil && x.profile != 0 && holder.session.profile == x.profile:
		return true
	}
	x.answer(numNickInUse, "Nickname is already in use", nick)
	return false
}

// signOn signs the client on once it has identified itself.
func (x *session) signOn() error {
	w := x.wanted
	if w.nick == "" || w.userField == "" {
		return nil
	}
	if !x.mayTake(w.nick) {
		x.wanted.nick = ""
		return nil
	}
	if banned, _ := x.server.sanctioned(x, ""); banned {
		return endedBanned
	}
	h := x.server.hall
	now := time.Now()
	for _, other := range []*user{h.nicks[foldNick(w.nick)], h.profiles[x.profile]} {
		if other != nil && (x.profile == 0 || other != x.user) {
			x.displace(other)
			if !now.After(other.since) {
				now = other.since.Add(1) // the newer one, whatever the clock of its node says
			}
		}
	}
	host := x.ownAddress()
	u := &user{session: x, field: w.userField, realName: w.realName, host: host, mask: x.server.mask(x.peer.Addr()), since: now, serial: x.serial}
	u.rename(w.nick)
	x.user = u
	h.enter(u)
	x.welcome()
	x.open() // from here on the writer has the cipher
	if x.profile != 0 {
		x.conn.SetState(netserve.StateProtected)
	} else {
		x.conn.SetState(netserve.StateIdle)
	}
	x.server.opt.Log.Debug().Stringer("peer", x.peer).Uint32("profile", uint32(x.profile)).Str("game", x.game).
		Bool("encrypted", x.secure).Msg("signed on")
	return nil
}

// displace ends the session of the same player, or of a client that has its nick.
func (x *session) displace(other *user) {
	h := x.server.hall
	if other.left {
		return // it has been displaced already
	}
	h.leave(other, "Duplicate Login")
	other.session.Kick(quit{"Duplicate Login"})
}

// mask returns the text that strangers see in place of an address. It stays the
// same for an address until the daemon ends, so that it can be banned from a
// channel.
func (s *Server) mask(a netip.Addr) string {
	mac := hmac.New(sha256.New, s.maskKey[:])
	b := a.As16()
	mac.Write(b[:])
	return hex.EncodeToString(mac.Sum(nil)[:maskedBytes]) + ".masked"
}

// welcome answers the sign-on. Games read the first line only, IRC programs the
// others.
func (x *session) welcome() {
	nick := x.user.nick
	x.noteVerdict(verdicts.InChat)
	x.answer(numWelcome, "Welcome to the chat, "+nick)
	x.answer(numYourHost, "Your host is a respawnd server")
	x.answer(numCreated, "This server was started "+x.server.started.UTC().Format(time.RFC1123))
	x.answerPlain(numMyInfo, serverName, "1.0", "iq", "biklmnopstve")
	x.sendMotd()
}

// motd is the command of that name.
func (x *session) motd(context.Context, *message) error {
	x.sendMotd()
	return nil
}

// sendMotd answers with the message of the day.
func (x *session) sendMotd() {
	lines := x.server.opt.Motd
	if len(lines) == 0 {
		x.answer(numNoMOTD, "There is no message of the day")
		return
	}
	x.answer(numMOTDStart, "- Message of the day - ")
	for _, line := range lines {
		x.answer(numMOTD, "- "+line)
	}
	x.answer(numEndOfMOTD, "End of MOTD command")
}

// changeNick gives the client, which is signed on, another nick.
func (x *session) changeNick(nick string) {
	h, u := x.server.hall, x.user
	if holder := h.nicks[foldNick(nick)]; holder != nil && holder != u {
		x.displace(holder)
	}
	h.renamed(u, nick)
	h.links.leases.end(h.links.id(u))
	h.links.touchUser(u)
}

// renamed gives a user a nick that is free, and shows it to those that share a channel
// with it and to itself.
func (h *hall) renamed(u *user, nick string) {
	h.toMates(u, u.node == "", func(dst []byte, prefix string) []byte {
		return appendText(appendFrom(dst, prefix, "NICK"), nick)
	})
	h.forgetNick(u)
	h.links.freed(u)
	u.rename(nick)
	h.links.index(u)
	for _, m := range u.joined {
		m.barred = m.barred || m.channel.bars(&u.names)
	}
}

// forgetNick frees the nick of a user.
func (h *hall) forgetNick(u *user) {
	if folded := foldNick(u.nick); h.nicks[folded] == u {
		delete(h.nicks, folded)
	}
}
