package fesl

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// recordFields returns the fields of a request that writes a record, from keys and values in turn.
func recordFields(name, owner string, values ...string) []string {
	fields := []string{"recordName", name, "owner", owner, "ownerType", ownerType, "values.{}", strconv.Itoa(len(values) / 2)}
	for i := 0; i < len(values); i += 2 {
		fields = append(fields, "values.{"+values[i]+"}", values[i+1])
	}
	return fields
}

// TestRecords keeps a dog tag, which has 28 bytes, and reads it as its owner and as another player.
func TestRecords(t *testing.T) {
	reg := prometheus.NewRegistry()
	f := start(t, func(o *Options) { o.Metrics = netserve.NewMetrics(reg, name, DropReasons()...) })
	ann, one := f.playing("bfbc2-pc", "Ann1")
	ben, two := f.playing("bfbc2-pc", "Ben1")
	tag := base64.StdEncoding.EncodeToString(append(make([]byte, 27), 0xff))
	ann.wantError(codeNoRecord, "recp", "GetRecordAsMap", "recordName", "dogtags", "owner", one)
	if got := ann.want("recp", "AddRecordAsMap", recordFields("dogtags", one, two, tag)...); got.Get("TTL") != "0" {
		t.Errorf("added: %v", got)
	}
	ann.want("recp", "UpdateRecordAsMap", recordFields("dogtags", "", "a%3db", "", two, tag)...)
	ann.want("recp", "AddRecord", recordFields("clan", one, "tag", "ABC")...)
	ben.want("recp", "UpdateRecord", recordFields("dogtags", one, two, "stolen")...)
	for _, p := range []peer{ann, ben} {
		got := p.want("recp", "GetRecordAsMap", "recordName", "dogtags", "owner", one, "ownerType", ownerType)
		if got.Get("TTL") != "0" || got.Get("state") != "1" || got.Get("lastModified") == "" || got.Get("values.{}") != "2" || got.Get("values.{"+two+"}") != tag {
			t.Errorf("read: %v", got)
		}
		if v, ok := got.Look("values.{a%3db}"); v != "" || !ok {
			t.Errorf("a key with an escape: %v", got)
		}
	}
	if got := ben.want("recp", "GetRecord", "recordName", "clan", "owner", one); got.Get("values.{}") != "1" || got.Get("values.{tag}") != "ABC" {
		t.Errorf("another record: %v", got)
	}
	if n := metrictest.Dropped(t, reg, droppedStats.Error()); n != 1 {
		t.Errorf("%d records of others counted, want 1", n)
	}
	// A record is no statistic, and games whose players write none keep none.
	if got := ann.value(one, "dogtags:"+two); got != "0.0000" {
		t.Errorf("a record is a statistic: %s", got)
	}
	cid, three := f.playing("mercs2-pc", "Cid1")
	cid.want("recp", "AddRecord", recordFields("clan", three, "tag", "ABC")...)
	cid.wantError(codeNoRecord, "recp", "GetRecord", "recordName", "clan", "owner", three)
}

func TestRecordBounds(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Stats = stats.New(o.Store.(storage.Stats), stats.Options{Limits: stats.Limits{MaxBlock: storage.MaxStatBlock}})
	})
	p, id := f.playing("bfbc2-pc", "Ann1")
	for _, bad := range [][]string{
		recordFields("", id, "a", "b"),
		recordFields("a:b", id, "a", "b"),
		recordFields(strings.Repeat("n", maxRecordName+1), id, "a", "b"),
		recordFields("tags", id, strings.Repeat("k", maxRecordKey+1), "b"),
		recordFields("tags", id, "a", `b\c`),
	} {
		p.wantError(codeFields, "recp", "AddRecord", bad...)
	}
	name := strings.Repeat("n", maxRecordName)
	var values []string
	for i := range maxRecordValues {
		values = append(values, strconv.Itoa(i), "v")
	}
	for part := range slices.Chunk(values, 400) {
		p.want("recp", "AddRecord", recordFields(name, id, part...)...)
	}
	p.wantError(codeTooMany, "recp", "AddRecord", recordFields("other", id, "one", "more")...)
	p.want("recp", "UpdateRecord", recordFields(name, id, "0", strings.Repeat("v", wire.MaxValue))...)
	full := 0
	for i := range maxRecordBytes / wire.MaxValue {
		if _, err := p.Ask(t.Context(), "recp", "UpdateRecord", recordFields(name, id, strconv.Itoa(i), strings.Repeat("v", wire.MaxValue))...); err != nil {
			full++
		}
	}
	if full == 0 {
		t.Error("records over their bound were stored")
	}
	if got := p.want("recp", "GetRecord", "recordName", name, "owner", id); got.Get("values.{}") != strconv.Itoa(maxRecordValues) {
		t.Errorf("%s values", got.Get("values.{}"))
	}
}

// TestEntitlements asks for what players of Bad Company 2 own, as the game does: by groups, and by a tag without
// one.
func TestEntitlements(t *testing.T) {
	f := start(t, nil)
	p, _ := f.playing("bfbc2-pc", "Ann1")
	for _, tt := range []struct {
		fields []string
		want   string // tags
	}{
		{[]string{"groupName", "NoVetRank"}, "BFBC2NAM:PC:NOVETRANK"},
		{[]string{"groupName", "addsvetrank", "entitlementTag", ""}, "BFBC2:PC:ADDSVETRANK BF3:PC:ADDSVETRANK"},
		{[]string{"groupName", "", "entitlementTag", "ONLINE_ACCESS"}, "ONLINE_ACCESS"},
		{[]string{"entitlementTag", "BFBC2:PC:ALLKIT"}, "BFBC2:PC:ALLKIT"},
		{[]string{"groupName", "Other"}, ""},
	} {
		got := p.want("acct", "NuGetEntitlements", tt.fields...)
		var tags []string
		for i := range count(got.Get("entitlements.[]"), 100) {
			tags = append(tags, got.Get(wire.Member("entitlements", i)+".entitlementTag"))
		}
		if strings.Join(tags, " ") != tt.want {
			t.Errorf("%q: %q, want %q", tt.fields, tags, tt.want)
		}
	}
	got := string(p.want("acct", "NuGetEntitlements", "groupName", "BFBC2PC", "entitlementTag", "BFBC2:PC:LimitedEdition").Append(nil, ""))
	want := "TXN=NuGetEntitlements\nentitlements.[]=1\nentitlements.0.entitlementId=3\nentitlements.0.entitlementTag=BFBC2%3aPC%3aLimitedEdition\n" +
		"entitlements.0.groupName=BFBC2PC\nentitlements.0.grantDate=2011-10-30T0%3a11Z\nentitlements.0.status=ACTIVE\n" +
		"entitlements.0.statusReasonCode=\nentitlements.0.terminationDate=\nentitlements.0.productId=\nentitlements.0.userId=1\nentitlements.0.version=1"
	if got != want {
		t.Errorf("an entitlement:\n got %q\nwant %q", got, want)
	}
	c := f.server.opt.Config
	c.BadCompany2 = false
	f.server.Reload(&c)
	other, _ := f.playing("mercs2-pc", "Ben1")
	for _, p := range []peer{p, other} {
		if got := p.want("acct", "NuGetEntitlements"); got.Get("entitlements.[]") != "0" {
			t.Errorf("without entitlements: %v", got)
		}
	}
}

// TestOtherPlayers asks for lists and states of other players, and for messages: there are none.
func TestOtherPlayers(t *testing.T) {
	f := start(t, nil)
	p, id := f.playing("bfbc2-pc", "Ann1")
	got := string(p.want("asso", "GetAssociations", "type", "PlasmaFriends", "owner.id", id, "owner.type", "1",
		"domainPartition.domain", "eagames", "domainPartition.subDomain", "BFBC2").Append(nil, ""))
	want := fmt.Sprintf("TXN=GetAssociations\ndomainPartition.domain=eagames\ndomainPartition.subDomain=BFBC2\nmaxListSize=100\n"+
		"members.[]=0\nowner.id=%s\nowner.name=Ann1\nowner.type=1", id)
	if got != want {
		t.Errorf("associations:\n got %q\nwant %q", got, want)
	}
	if got := p.want("asso", "GetAssociations", "owner.id", "4000000000"); got.Get("owner.name") != "" || got.Get("members.[]") != "0" {
		t.Errorf("of an unknown player: %v", got)
	}
	if got := p.want("pres", "PresenceSubscribe", "requests.[]", "2", "requests.0.userId", "7", "requests.1.userId", "8"); got.Get("responses.[]") != "2" ||
		got.Get("responses.1.owner.id") != "8" || got.Get("responses.1.outcome") != "0" {
		t.Errorf("subscribed: %v", got)
	}
	var many []string
	for i := range maxAssociations + 1 {
		many = append(many, wire.Member("requests", i)+".userId", "7")
	}
	if got := p.want("pres", "PresenceUnsubscribe", many...); got.Get("responses.[]") != strconv.Itoa(maxAssociations) {
		t.Errorf("%s answers", got.Get("responses.[]"))
	}
	if got := p.want("xmsg", "SendMessage", "to.[]", "1", "to.0", "7"); got.Get("messageId") != "1" || got.Get("status.[]") != "0" {
		t.Errorf("sent: %v", got)
	}
	for _, tt := range []struct{ service, txn, key, want string }{
		{"asso", "GetAssociationCount", "count", "0"},
		{"asso", "AddAssociations", "TXN", "AddAssociations"},
		{"xmsg", "GetMessages", "messages.[]", "0"},
		{"xmsg", "ModifySettings", "TXN", "ModifySettings"},
		{"pres", "SetPresenceStatus", "TXN", "SetPresenceStatus"},
		{"mtrx", "ReportMetrics", "TXN", "ReportMetrics"},
		{"fltr", "GetFilterList", "filters.[]", "0"},
	} {
		if got := p.want(tt.service, tt.txn); got.Get(tt.key) != tt.want {
			t.Errorf("%s %s: %v", tt.service, tt.txn, got)
		}
	}
}
