package fesl

import (
	"slices"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/ascii"
)

// entitlement is something that players of a game own: an expansion, weapons, a right.
type entitlement struct {
	group, tag string
	version    int64
}

// badCompany2 are those of Bad Company 2 on computers, as Tratos/BFBC2_MasterServer and
// GrzybDev/BFBC2_MasterServer give them to everyone.
var badCompany2 = []entitlement{
	{"BFBC2PC", "BFBC2:PC:VIETNAM_ACCESS", 0},
	{"BFBC2PC", "BFBC2:PC:VIETNAM_PDLC", 0},
	{"BFBC2PC", "BFBC2:PC:LimitedEdition", 1},
	{"BFBC2PC", "BFBC2:PC:ALLKIT", 0},
	{"BFBC2PC", "BETA_ONLINE_ACCESS", 0},
	{"AddsVetRank", "BFBC2:PC:ADDSVETRANK", 0},
	{"AddsVetRank", "BF3:PC:ADDSVETRANK", 0},
	{"NoVetRank", "BFBC2NAM:PC:NOVETRANK", 0},
	{"", "ONLINE_ACCESS", 0},
}

// entitlements lists what the account owns, of the group and with the tag that are asked for.
func entitlements(x *session, r *request, answer *wire.Text) error {
	var owned []entitlement
	if x.server.live.Load().BadCompany2 {
		owned = slices.Clone(x.title.owned)
	}
	group, grouped := r.Look("groupName")
	tag := r.Get("entitlementTag")
	owned = slices.DeleteFunc(owned, func(e entitlement) bool {
		return grouped && !ascii.EqualFold(group, e.group) || tag != "" && !ascii.EqualFold(tag, e.tag)
	})
	const list = "entitlements"
	answer.AddNumber(list+".[]", int64(len(owned)))
	for i, e := range owned {
		entry := wire.Member(list, i)
		answer.AddNumber(entry+".entitlementId", int64(slices.Index(x.title.owned, e)+1))
		answer.Add(entry+".entitlementTag", e.tag)
		answer.Add(entry+".groupName", e.group)
		answer.Add(entry+".grantDate", "2011-10-30T0:11Z")
		answer.Add(entry+".status", "ACTIVE")
		answer.Add(entry+".statusReasonCode", "")
		answer.Add(entry+".terminationDate", "")
		answer.Add(entry+".productId", "")
		answer.AddNumber(entry+".userId", int64(x.player.User()))
		answer.AddNumber(entry+".version", e.version)
	}
	return nil
}

// northernStrike is the booster pack of Battlefield 2142, as the game asks for it.
const northernStrike = "bf2142_bp1"

// inventory lists the objects that the account has.
func inventory(x *session, r *request, answer *wire.Text) error {
	const list = "entitlements"
	if x.title.game != "stella" || !x.server.live.Load().NorthernStrike || !slices.Contains(r.List("objectIds"), northernStrike) {
		answer.AddList(list)
		return nil
	}
	answer.AddNumber(list+".[]", 1)
	answer.Add(list+".0.objectId", northernStrike)
	answer.Add(list+".0.editionNo", "0")
	answer.Add(list+".0.dateEntitled", "2007-03-08")
	answer.Add(list+".0.useCount", "0")
	answer.Add(list+".0.entitleId", "1")
	return nil
}

// bundle answers whether the account has a bundle: it has none. Battlefield 2142 expects that as a list.
func bundle(x *session, _ *request, answer *wire.Text) error {
	if x.title.game != "stella" {
		return refuse(codeNotOwned, "The account does not have it.")
	}
	answer.AddList("EntitlementByBundle")
	return nil
}
