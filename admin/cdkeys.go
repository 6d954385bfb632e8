package admin

import (
	"context"
	"strconv"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// CD keys.
var (
	getCDKeys = newEndpoint("GET", "cdkeys", "CD keys of products by their hash, at most 1000: ?product=, ?after_product=, ?after_hash=", cdKeyQuery, operator.Operator.CDKeys)
	addCDKeys = newEndpoint("POST", "cdkeys", "add CD keys, at most 1000: product, keys, by", secretBody, func(op operator.Operator, ctx context.Context, n operator.NewCDKeys) (cdKeysAdded, error) {
		added, err := op.AddCDKeys(ctx, n)
		return cdKeysAdded{added}, err
	})
	removeCDKey = newEndpoint("DELETE", "cdkeys", "remove a CD key with its ban: ?product=, ?hash=", cdKeyID, answering(removed{1}, operator.Operator.RemoveCDKey))
	banCDKey    = newEndpoint("PUT", "cdkeys/bans", "ban a CD key at once: product, hash, reason, by", jsonBody, answering(done{1}, operator.Operator.BanCDKey))
	unbanCDKey  = newEndpoint("DELETE", "cdkeys/bans", "lift the ban of a CD key: ?product=, ?hash=", cdKeyID, answering(removed{1}, operator.Operator.UnbanCDKey))
)

// cdKeysAdded is the answer to addCDKeys.
type cdKeysAdded struct {
	Added int `json:"added"`
}

func cdKeyID(p *params, id *storage.ProductKeyID) {
	number(p, "product", &id.Product)
	p.text("hash", &id.Hash)
}

func cdKeyQuery(p *params, q *operator.CDKeyQuery) {
	text := ""
	if q.Product >= 0 {
		text = strconv.Itoa(q.Product)
	}
	p.value("product", text, func(text string) (err error) {
		if q.Product = -1; text != "" {
			if q.Product, err = strconv.Atoi(text); err != nil {
				return errNotNumber("product")
			}
		}
		return nil
	})
	number(p, "after_product", &q.After.Product)
	p.text("after_hash", &q.After.Hash)
}
