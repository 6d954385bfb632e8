package admin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Answers of operations that return no value of their own.
type (
	removed struct {
		Removed int `json:"removed"`
	}
	done struct {
		Done int `json:"done"`
	}
	stored struct {
		Stored int `json:"stored"`
	}
)

// Status, bans, games and rooms.
var (
	getStatus = newGetter("status", "version, services with their addresses, numbers of servers, bans and sessions", operator.Operator.Status)

	getBans     = newGetter("bans", "all bans of the store", operator.Operator.Bans)
	getFileBans = newEndpoint("GET", "bans/files", "bans in the files of services, with file and line: ?addr= (those that cover it)", addrParam, operator.Operator.FileBans)
	addBan      = newEndpoint("POST", "bans", "ban a prefix from a scope at once: prefix, scope, reason, by, expires", jsonBody,
		func(op operator.Operator, ctx context.Context, b storage.Ban) (storage.Ban, error) {
			return b, refusedBan(op.AddBan(ctx, b))
		})
	removeBans = newEndpoint("DELETE", "bans", "lift bans: ?prefix=, ?scope= (default: every scope)",
		func(p *params, b *banRef) { b.params(p) },
		func(op operator.Operator, ctx context.Context, b banRef) (removed, error) {
			n, err := op.RemoveBan(ctx, b.prefix, b.scope)
			return removed{n}, err
		})

	getGames = newGetter("games", "the catalogue in force, as YAML",
		func(op operator.Operator, ctx context.Context) (gameList, error) { return op.Games(ctx) })
	putGames = newEndpoint("PUT", "games", "store own records of games, given as YAML", yamlBody,
		func(op operator.Operator, ctx context.Context, list gameList) (stored, error) {
			return stored{len(list)}, op.PutGames(ctx, list)
		})
	importGames = newEndpoint("POST", "games/import", "store the additions of a list of games, in a format that `game import` reads: ?name= (of the file)",
		func(p *params, l *importedList) { l.params(p) },
		func(op operator.Operator, ctx context.Context, l importedList) (operator.GameImport, error) {
			return l.store(ctx, op)
		})
	getGame = newEndpoint("GET", "games/{name}", "the own record of a game, as YAML", nameParam,
		func(op operator.Operator, ctx context.Context, game string) (gameList, error) {
			g, err := op.OwnGame(ctx, game)
			return gameList{g}, err
		})
	deleteGame     = newEndpoint("DELETE", "games/{name}", "remove the own record of a game", nameParam, answering(removed{1}, operator.Operator.DeleteGame))
	setMaintenance = newEndpoint("PUT", "games/{name}/maintenance", "make a game answer \"down for now\" or not: on",
		func(p *params, m *maintenance) { nameParam(p, &m.game); jsonBody(p, &m.switchBody) },
		func(op operator.Operator, ctx context.Context, m maintenance) (switchBody, error) {
			return m.switchBody, op.SetMaintenance(ctx, m.game, m.On)
		})

	getRooms   = newEndpoint("GET", "rooms", "group rooms that were added: ?game=", gameParam, operator.Operator.Rooms)
	putRoom    = newEndpoint("PUT", "rooms", "add or change a group room", jsonBody, operator.Operator.PutRoom)
	deleteRoom = newEndpoint("DELETE", "rooms/{id}", "remove a group room", roomParam, answering(removed{1}, operator.Operator.DeleteRoom))
)

// Servers, verdicts, sessions and the audit log.
var (
	getServers  = newEndpoint("GET", "servers", "servers of the list and those kept out of it: ?game=", gameParam, operator.Operator.Servers)
	getVerdicts = newEndpoint("GET", "verdicts", "the last decisions about addresses: ?addr=", addrParam, operator.Operator.Verdicts)
	getMasters  = newGetter("federation", "the other masters that are read, and their states", operator.Operator.Masters)
	getMeetings = newGetter("meetings", "how players who negotiated reached each other, by kinds of routers", operator.Operator.Meetings)
	getRelayed  = newGetter("relay", "the pairs of players that are relayed", operator.Operator.Relayed)
	getSummary  = newGetter("verdicts/summary", "how many addresses have which verdict",
		func(op operator.Operator, ctx context.Context) ([]operator.VerdictCount, error) {
			list, err := op.Verdicts(ctx, netip.Addr{})
			return operator.CountVerdicts(list), err
		})

	getSessions   = newEndpoint("GET", "sessions", "players who are signed in: ?after=, ?limit=", sessionQuery, operator.Operator.SignedIn)
	deleteSession = newEndpoint("DELETE", "sessions/{id}", "sign out the player with that profile", idParam,
		func(op operator.Operator, ctx context.Context, profile storage.ProfileID) (removed, error) {
			n, err := op.Kick(ctx, profile)
			return removed{n}, err
		})
	getMessages = newGetter("messages", "how many messages wait for players", operator.Operator.Waiting)
	getAudit    = newEndpoint("GET", "audit", "changes by operators, newest first: ?before=, ?limit=", auditQuery, operator.Operator.AuditLog)

	getKept      = newGetter("servers/kept", "servers that were added or hidden, here or in the configuration", operator.Operator.KeptServers)
	addServer    = newEndpoint("PUT", "servers/added", "have a server asked and listed: address, protocol, game, by", jsonBody, answering(done{1}, operator.Operator.AddServer))
	removeServer = newEndpoint("DELETE", "servers/added", "forget an added server and take it off the list: ?address=",
		func(p *params, address *string) { p.text("address", address) }, operator.Operator.RemoveServer)
	hideServer   = newEndpoint("PUT", "servers/hidden", "hide a server: address, reason, by", jsonBody, answering(done{1}, operator.Operator.HideServer))
	unhideServer = newEndpoint("DELETE", "servers/hidden", "show a hidden server again: ?address=", addressParam, answering(removed{1}, operator.Operator.UnhideServer))
)

// Accounts.
var (
	getAccounts   = newEndpoint("GET", "accounts", "accounts in the order of their ids: ?after=, ?limit=, ?match=", accountQuery, operator.Operator.ListAccounts)
	createAccount = newEndpoint("POST", "accounts", "create an account, or a profile in one", secretBody, operator.Operator.CreateAccount)
	getAccount    = newEndpoint("GET", "account", "one account: ?id= or ?email=&partner= or ?uniquenick=&namespace=", accountRef, operator.Operator.FindAccount)
	setPassword   = newEndpoint("PUT", "accounts/{id}/password", "set a password; ends sessions",
		func(p *params, a *newPassword) { idParam(p, &a.id); secretBody(p, a) },
		answering(done{1}, func(op operator.Operator, ctx context.Context, a newPassword) error {
			return op.SetPassword(ctx, a.id, a.Password)
		}))
	issueReset = newEndpoint("POST", "accounts/{id}/reset", "a link with which the owner sets another password, once; ends the one before", idParam, operator.Operator.IssueReset)
	banAccount = newEndpoint("PUT", "accounts/{id}/ban", "ban an account; ends sessions: reason, by, expires",
		func(p *params, b *accountBan) { idParam(p, &b.id); jsonBody(p, &b.ban) },
		answering(done{1}, func(op operator.Operator, ctx context.Context, b accountBan) error {
			return op.BanAccount(ctx, b.id, b.ban)
		}))
	unbanAccount   = newEndpoint("DELETE", "accounts/{id}/ban", "lift the ban of an account", idParam, answering(done{1}, operator.Operator.UnbanAccount))
	deleteAccount  = newEndpoint("DELETE", "accounts/{id}", "delete an account with all that hangs on it", idParam, answering(removed{1}, operator.Operator.DeleteAccount))
	importAccounts = newEndpoint("POST", "accounts/import", "store accounts", secretBody,
		func(op operator.Operator, ctx context.Context, b importBody) ([]operator.Imported, error) {
			return op.ImportAccounts(ctx, b.Accounts)
		})
	importBuddies = newEndpoint("POST", "accounts/import/buddies", "store the buddies, blocks, data of games, scores and records of imported accounts", secretBody,
		func(op operator.Operator, ctx context.Context, b importBody) (done, error) {
			return done{len(b.Accounts)}, op.ImportBuddies(ctx, b.Accounts)
		})
	rotateKey = newEndpoint("POST", "accounts/rotate-key", "seal everything secret of accounts with a new key", noParams,
		func(op operator.Operator, ctx context.Context, _ none) (done, error) {
			n, err := op.RotateAccountKey(ctx)
			return done{n}, err
		})
)

// Inputs that are not a single noun of package operator.
type (
	maintenance struct {
		game string
		switchBody
	}
	switchBody struct {
		On bool `json:"on"`
	}
	newPassword struct {
		id       storage.UserID
		Password string `json:"password"`
	}
	accountBan struct {
		id  storage.UserID
		ban storage.AccountBan
	}
	importBody struct {
		Accounts []accounts.Account `json:"accounts"`
	}
)

// refusedBan turns the error of a ban of all addresses into
// operator.ErrBadRequest.
func refusedBan(err error) error {
	if errors.Is(err, bans.ErrEverybody) {
		return fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	return err
}

func gameParam(p *params, v *string) { p.text("game", v) }

func roomParam(p *params, v *uint32) {
	if p.r == nil {
		p.part = strconv.FormatUint(uint64(*v), 10)
		return
	}
	n, err := strconv.ParseUint(p.r.PathValue("id"), 10, 32)
	if err != nil {
		p.refuse(err)
	}
	*v = uint32(n)
}

func addrParam(p *params, v *netip.Addr) {
	text := ""
	if v.IsValid() {
		text = v.String()
	}
	p.value("addr", text, func(text string) (err error) {
		if text == "" {
			return nil
		}
		if *v, err = netip.ParseAddr(text); err != nil {
			return fmt.Errorf("addr: %w", err)
		}
		return nil
	})
}

func addressParam(p *params, v *netip.AddrPort) {
	p.value("address", v.String(), func(text string) (err error) {
		if *v, err = netip.ParseAddrPort(text); err != nil {
			return fmt.Errorf("address: %w", err)
		}
		return nil
	})
}

// afterParam is the parameter with the start of a page of a list.
func afterParam[T ~uint32](p *params, v *T) { number(p, "after", v) }

func sessionQuery(p *params, q *operator.SessionQuery) {
	afterParam(p, &q.After)
	number(p, "limit", &q.Limit)
}

func auditQuery(p *params, q *operator.AuditQuery) {
	before := ""
	if q.Before > 0 {
		before = strconv.FormatUint(q.Before, 10)
	}
	p.value("before", before, func(text string) (err error) {
		if text == "" {
			return nil
		}
		if q.Before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return errNotNumber("before")
		}
		return nil
	})
	number(p, "limit", &q.Limit)
}

func accountQuery(p *params, q *operator.AccountQuery) {
	afterParam(p, &q.After)
	number(p, "limit", &q.Limit)
	p.text("match", &q.Match)
}

func accountRef(p *params, ref *operator.AccountRef) {
	number(p, "id", &ref.ID)
	number(p, "partner", &ref.Partner)
	number(p, "namespace", &ref.Namespace)
	p.text("email", &ref.Email)
	p.text("uniquenick", &ref.UniqueNick)
}
