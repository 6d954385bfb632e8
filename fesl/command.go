package fesl

import (
	"context"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/ascii"
)

// request is a message of the client that is to be answered.
type request struct {
	wire.Header
	wire.Text
}

// command is one row of the table: a request, the stage that it needs, and its function.
type command struct {
	name  string // service and TXN
	stage stage
	// run adds the lines of the answer. A *refusal or an accounts.Refusal is sent to
	// the client, errGoodbye ends the connection without an answer, and any other
	// error is a fault of the server.
	run func(x *session, ctx context.Context, r *request, answer *wire.Text) error
}

// commands returns the table by names in lower case.
func commands() map[string]*command {
	rows := []command{
		{"fsys Hello", stageNew, (*session).hello},
		{"fsys MemCheck", stageReady, always(bare)},
		{"fsys Ping", stageReady, always(bare)},
		{"fsys GetPingSites", stageReady, (*session).pingSites},
		{"fsys Goodbye", stageReady, always(goodbye)},
		{"fsys Suicide", stageReady, always(goodbye)},

		{"acct GetCountryList", stageReady, always(countries)},
		{"acct NuGetCountryList", stageReady, always(countries)},
		{"acct GetTos", stageReady, always(terms)},
		{"acct NuGetTos", stageReady, always(terms)},
		{"acct GetTelemetryToken", stageReady, always(telemetry)},
		{"acct SendAccountName", stageReady, always(bare)},
		{"acct SendPassword", stageReady, always(bare)},
		{"acct AddAccount", stageReady, (*session).addAccount},
		{"acct NuAddAccount", stageReady, (*session).addAccount},
		{"acct Login", stageReady, (*session).signIn},
		{"acct NuLogin", stageReady, (*session).signIn},
		{"acct PS3Login", stageReady, (*session).consoleSignIn},
		{"acct NuPS3Login", stageReady, (*session).consoleSignIn},
		{"acct NuPS3AddAccount", stageReady, always(bare)}, // the sign-in makes it

		{"acct GetAccount", stageAccount, (*session).account},
		{"acct NuGetAccount", stageAccount, (*session).account},
		{"acct UpdateAccount", stageAccount, (*session).updateAccount},
		{"acct NuUpdateAccount", stageAccount, (*session).updateAccount},
		{"acct GetSubAccounts", stageAccount, (*session).listPersonas},
		{"acct NuGetPersonas", stageAccount, (*session).listPersonas},
		{"acct AddSubAccount", stageAccount, (*session).addPersona},
		{"acct NuAddPersona", stageAccount, (*session).addPersona},
		{"acct DisableSubAccount", stageAccount, (*session).deletePersona},
		{"acct NuDisablePersona", stageAccount, (*session).deletePersona},
		{"acct LoginSubAccount", stageAccount, (*session).enterPersona},
		{"acct NuLoginPersona", stageAccount, (*session).enterPersona},
		{"acct RegisterGame", stageAccount, (*session).registerGame},
		{"acct NuEntitleGame", stageAccount, (*session).entitle},
		{"acct NuEntitleUser", stageAccount, (*session).entitle},
		{"acct NuGetEntitlements", stageAccount, atOnce(entitlements)},
		{"acct NuGrantEntitlement", stageAccount, always(bare)}, // nothing is granted
		{"acct LookupUserInfo", stageAccount, (*session).lookUp},
		{"acct NuLookupUserInfo", stageAccount, (*session).lookUp},
		{"acct NuSearchOwners", stageAccount, none("users")},
		{"acct GameSpyPreAuth", stagePersona, (*session).preAuth},

		{"subs GetEntitlementByBundle", stageAccount, atOnce(bundle)},
		{"dobj GetObjectInventory", stageAccount, atOnce(inventory)},

		{"rank UpdateStats", stagePersona, ranked(ledger.update)},
		{"rank GetStats", stagePersona, ranked(ledger.ofOwner)},
		{"rank GetStatsForOwners", stagePersona, ranked(ledger.ofOwners)},
		{"rank GetRankedStats", stagePersona, ranked(ledger.ofOwner)},
		{"rank GetRankedStatsForOwners", stagePersona, ranked(ledger.ofOwners)},
		{"rank GetTopN", stagePersona, ranked(ledger.top)},
		{"rank GetTopNAndMe", stagePersona, ranked(ledger.top)},
		{"rank GetTopNAndStats", stagePersona, ranked(ledger.top)},
		{"recp GetRecord", stagePersona, ranked(ledger.record)},
		{"recp GetRecordAsMap", stagePersona, ranked(ledger.record)},
		{"recp AddRecord", stagePersona, ranked(ledger.setRecord)},
		{"recp AddRecordAsMap", stagePersona, ranked(ledger.setRecord)},
		{"recp UpdateRecord", stagePersona, ranked(ledger.setRecord)},
		{"recp UpdateRecordAsMap", stagePersona, ranked(ledger.setRecord)},
		{"asso GetAssociations", stagePersona, ranked(ledger.associations)},
		{"asso GetAssociationCount", stagePersona, always(countAssociations)},
		{"asso AddAssociations", stagePersona, always(bare)}, // lists stay empty
		{"asso DeleteAssociations", stagePersona, always(bare)},
		{"asso NotifyAssociations", stagePersona, always(bare)},
		{"xmsg GetMessages", stagePersona, none("messages")},
		{"xmsg ModifySettings", stagePersona, always(bare)},
		{"xmsg SendMessage", stagePersona, atOnce(sendMessage)},
		{"xmsg DeleteMessages", stagePersona, always(bare)},
		{"xmsg PurgeMessages", stagePersona, always(bare)},
		{"pres SetPresenceStatus", stagePersona, always(bare)},
		{"pres PresenceSubscribe", stagePersona, always(subscribe)},
		{"pres PresenceUnsubscribe", stagePersona, always(subscribe)},
		{"fltr GetFilterList", stagePersona, none("filters")},
		{"mtrx ReportMetrics", stageReady, always(bare)},
		{"pnow Start", stagePersona, atOnce(searchGames)},
		{"pnow Cancel", stagePersona, always(bare)},
	}
	table := make(map[string]*command, len(rows))
	for i := range rows {
		table[ascii.ToLower(rows[i].name)] = &rows[i]
	}
	return table
}

// bare answers with nothing but the name of the request.
func bare(context.Context, *request, *wire.Text) error { return nil }

// none answers with an empty list.
func none(name string) func(*session, context.Context, *request, *wire.Text) error {
	return always(func(_ context.Context, _ *request, answer *wire.Text) error {
		answer.AddList(name)
		return nil
	})
}

// atOnce is a command that waits for nothing.
func atOnce(run func(*session, *request, *wire.Text) error) func(*session, context.Context, *request, *wire.Text) error {
	return func(x *session, _ context.Context, r *request, answer *wire.Text) error { return run(x, r, answer) }
}

// always is a command whose answer does not depend on the session.
func always(run func(context.Context, *request, *wire.Text) error) func(*session, context.Context, *request, *wire.Text) error {
	return func(_ *session, ctx context.Context, r *request, answer *wire.Text) error { return run(ctx, r, answer) }
}
