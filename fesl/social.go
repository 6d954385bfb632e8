package fesl

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/storage"
)

// maxAssociations is how long lists of other players are said to be.
const maxAssociations = 100

// ownerType is the type of a persona among those that own statistics, records and lists.
const ownerType = "1"

// associations answers with a list of a kind of other players, such as friends: it is empty. How its members are
// written was never seen.
func (x ledger) associations(ctx context.Context, r *request, answer *wire.Text) error {
	owner := x.ownerOf(r.Get("owner.id"))
	p, err := x.server.opt.Store.GetProfile(ctx, owner)
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDeleted) {
		return err
	}
	answer.Add("domainPartition.domain", cmp.Or(r.Get("domainPartition.domain"), x.domain))
	answer.Add("domainPartition.subDomain", cmp.Or(r.Get("domainPartition.subDomain"), x.title.subDomain))
	answer.AddNumber("maxListSize", maxAssociations)
	answer.AddList("members")
	answer.Add("owner.id", strconv.FormatUint(uint64(owner), 10))
	answer.Add("owner.name", x.persona(&p))
	answer.Add("owner.type", cmp.Or(r.Get("owner.type"), ownerType))
	return nil
}

// countAssociations answers how long such a list is.
func countAssociations(_ context.Context, _ *request, answer *wire.Text) error {
	answer.AddNumber("count", 0)
	return nil
}

// subscribe accepts that a game wants to know the states of other players. None is sent: how they are written was
// never seen.
func subscribe(_ context.Context, r *request, answer *wire.Text) error {
	const list = "responses"
	ids := members(r.Text, "requests", "userId", maxAssociations)
	answer.AddNumber(list+".[]", int64(len(ids)))
	for i, id := range ids {
		entry := wire.Member(list, i)
		answer.Add(entry+".owner.id", id)
		answer.Add(entry+".owner.type", ownerType)
		answer.AddNumber(entry+".outcome", 0)
	}
	return nil
}

// sendMessage takes an invitation and drops it: how they reach other players was never seen.
func sendMessage(x *session, _ *request, answer *wire.Text) error {
	x.messages++
	x.server.opt.Metrics.Drop(droppedMessage.Error())
	answer.AddNumber("messageId", int64(x.messages))
	answer.AddList("status")
	return nil
}
