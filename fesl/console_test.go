package fesl

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// digits returns a ticket as games of the PS3 send it.
func digits(t accounts.ConsoleTicket) string { return "$" + hex.EncodeToString(t.Append(nil)) }

// TestConsole signs in with tickets of both networks, and with such that are refused.
func TestConsole(t *testing.T) {
	f := start(t, func(o *Options) { o.ConsoleTickets, o.Registrations = true, 2 })
	ann := accounts.ConsoleTicket{User: 77, Name: "ann_on_ps3", Expires: time.Now().Add(time.Hour)}
	p := f.greeted("beach-ps3")
	if hello := p.want("fsys", "Hello", "clientString", "beach-ps3", "sku", "ps3"); hello.Get("domainPartition.domain") != "ps3" || hello.Get("domainPartition.subDomain") != "BEACH" {
		t.Errorf("a console is answered %v", hello)
	}
	first := p.want("acct", "NuPS3Login", "ticket", digits(ann), "macAddr", "$001122334455", "consoleId", "$00")
	if first.Get("personaName") != ann.Name || first.Get("lkey") == "" || first.Get("userId") == "" {
		t.Errorf("a player of a console is answered %v", first)
	}
	p.want("acct", "GameSpyPreAuth")

	late := ann
	late.Expires = time.Now().Add(time.Minute - consoleClock)
	again := f.greeted("bfbc-ps3")
	if second := again.want("acct", "PS3Login", "ticket", digits(late)); second.Get("userId") != first.Get("userId") || second.Get("screenName") != ann.Name {
		t.Errorf("the player is answered %v, before %v", second, first)
	}
	other := ann
	other.RPCN = true
	again = f.greeted("beach-ps3")
	if third := again.want("acct", "NuPS3Login", "ticket", digits(other)); third.Get("userId") == first.Get("userId") {
		t.Error("players of two networks with one number have one account")
	}

	old, another := ann, ann
	old.Expires = time.Now().Add(-consoleClock - time.Minute)
	another.User = 78
	again = f.greeted("beach-ps3")
	again.want("acct", "NuPS3AddAccount")
	for name, tt := range map[string]struct {
		ticket string
		want   code
	}{
		"expired":              {digits(old), codePassword},
		"no digits":            {"$xy", codePassword},
		"cut":                  {digits(ann)[:80], codePassword},
		"none":                 {"", codePassword},
		"more than a minute's": {digits(another), codeTooOften},
	} {
		t.Run(name, func(*testing.T) { again.wantError(tt.want, "acct", "NuPS3Login", "ticket", tt.ticket) })
	}
	again.wantError(codeNotSignedIn, "acct", "GameSpyPreAuth")
}

// TestConsoleNames has a player of a console make a persona: its name is apart from those of players who
// proved who they are.
func TestConsoleNames(t *testing.T) {
	f := start(t, func(o *Options) { o.ConsoleTickets = true })
	p := f.greeted("beach-ps3")
	p.want("acct", "NuPS3Login", "ticket", digits(accounts.ConsoleTicket{User: 77, Name: "ann_on_ps3", Expires: time.Now().Add(time.Hour)}))
	p.want("acct", "NuAddPersona", "name", testPersona)
	p.want("acct", "NuLoginPersona", "name", testPersona)
	if _, _, err := f.accounts.Profiles.ByUniqueNick(t.Context(), games.DefaultNamespace, testPersona); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a player with an unproved ticket took a name of others: %v", err)
	}
	f.register()
	f.signedIn("beach-ps3").want("acct", "NuLoginPersona", "name", testPersona)
}
