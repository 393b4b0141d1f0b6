// What making, reading and changing a resource are in calls.
package provider

import (
	"context"
	"fmt"
	"net/url"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// make sends the POST that makes it. Its idempotency key follows from what is asked for, so that an apply that was cut
// gets the thing that it made, secret and all, instead of a second one. What was ended since, what another resource
// of this apply has, and what somebody uses was not left behind: then the next key is tried.
func (t *thing) make(ctx context.Context, plan, config values, found *diag.Diagnostics) (map[string]any, error) {
	call := t.spec.Create
	path := fill(call.Path, plan, nil)
	body, err := t.body(call.Body, plan, config)
	if err != nil {
		return nil, err
	}
	base := plan.text("idempotency_key")
	if base == "" {
		if base, err = t.client.keyFor(t.hasSecrets(), t.name, path, body); err != nil {
			return nil, err
		}
	}
	for making := 1; making <= laterMakings; making++ {
		key := base
		if making > 1 {
			key = fmt.Sprintf("%s.%d", base, making)
		}
		told, err := t.client.once(ctx, path, body, key)
		if hasStatus(err, 410) { // the kept answer was erased, so what it made is not ours to know
			continue
		}
		if err != nil {
			return nil, err
		}
		one := t.withMade(plan, told.body, nil)
		if told.fromBefore {
			left, err := t.wasLeft(ctx, one)
			if err != nil {
				return nil, err
			}
			if !left {
				continue
			}
		}
		if !t.client.claim(t.called(one)) {
			continue
		}
		if told.fromBefore {
			found.AddWarning("Made by an earlier apply", fmt.Sprintf("The %s %s was made within the last 24 hours by an apply "+
				"of this workspace that asked for the very same, and this state did not have it: that apply was cut, or it was "+
				"destroyed and can come back. It is used, and no second one was made.", t.words(), t.identity(one)))
		}
		told.body["idempotency_key"] = key
		return told.body, nil
	}
	return nil, fmt.Errorf("this was made and ended %d times today: give it an `idempotency_key` of its own", laterMakings)
}

// wasLeft tells whether what an earlier apply made is still there, unused.
func (t *thing) wasLeft(ctx context.Context, one values) (bool, error) {
	told, gone, err := t.ask(ctx, one)
	if err != nil || gone {
		return false, err
	}
	return t.spec.Used == "" || pick(told, t.spec.Used) == nil, nil
}

// withMade is the plan with what the answer says of where the thing is: its id, and what its paths need.
func (t *thing) withMade(plan values, made map[string]any, kind tftypes.Type) values {
	all := values{}
	for name, value := range plan {
		all[name] = value
	}
	for name, one := range t.spec.Attributes {
		if text, ok := pick(made, one.From).(string); ok && one.Type == "string" && !all[name].IsKnown() {
			all[name] = tftypes.NewValue(tftypes.String, text)
		}
	}
	if key, ok := made["idempotency_key"].(string); ok && kind != nil {
		all["idempotency_key"] = tftypes.NewValue(tftypes.String, key)
	}
	return all
}

// ask reads it, as JSON. Gone: there is none, or it was ended.
func (t *thing) ask(ctx context.Context, known values) (map[string]any, bool, error) {
	all := map[string]any{}
	for _, reading := range t.spec.Reads {
		told, err := t.client.get(ctx, fill(reading.Path, known, all))
		if hasStatus(err, 404) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if reading.List {
			if told = byID(told, known.text("id")); told == nil {
				return nil, true, nil
			}
		}
		for field, value := range told {
			if len(reading.Take) == 0 || contains(reading.Take, field) {
				all[field] = value
			}
		}
	}
	for field, value := range t.spec.Gone {
		if pick(all, field) == value {
			return nil, true, nil
		}
	}
	return all, false, nil
}

func byID(list map[string]any, id string) map[string]any {
	entries, _ := list["data"].([]any)
	for _, entry := range entries {
		if one, ok := entry.(map[string]any); ok && one["id"] == id {
			return one
		}
	}
	return nil
}

// read is what the server has now, as attributes. What it never tells stays as it was known.
func (t *thing) read(ctx context.Context, known values, made map[string]any, kind tftypes.Type) (values, bool, error) {
	told, gone, err := t.ask(ctx, known)
	if err != nil || gone {
		return nil, gone, err
	}
	shape, ok := kind.(tftypes.Object)
	if !ok {
		return nil, false, fmt.Errorf("a state of %s, which is not an object", kind)
	}
	unread := t.spec.Create == nil && t.isImport(known)
	now := values{}
	for name, one := range t.spec.Attributes {
		of := shape.AttributeTypes[name]
		before := known[name]
		if !isSet(before) {
			before = tftypes.NewValue(of, nil)
		}
		value, err := t.readOne(name, one, readingOf{told, made, before, of})
		if err != nil {
			return nil, false, err
		}
		// Settings that this configuration leaves alone are none of its business, but for an import.
		if t.spec.Create == nil && !one.Computed && !one.ReadOnly && before.IsNull() && !unread {
			value = before
		}
		now[name] = value
	}
	return now, false, nil
}

// isImport tells a state that has only what it was imported by.
func (t *thing) isImport(known values) bool {
	for name, value := range known {
		if !contains(t.spec.Import, name) && !value.IsNull() {
			return false
		}
	}
	return true
}

type readingOf struct {
	told, made map[string]any
	before     tftypes.Value
	kind       tftypes.Type
}

func (t *thing) readOne(name string, one *Attribute, at readingOf) (tftypes.Value, error) {
	if one.Secret {
		return tftypes.NewValue(at.kind, nil), nil
	}
	if one.From == "-" || one.Parent || (one.Fixed && isSet(at.before)) {
		return at.before, nil
	}
	if one.Flag != nil {
		return tftypes.NewValue(at.kind, pick(at.told, one.Flag.Field) == one.Flag.Value), nil
	}
	if one.Once {
		if told := pick(at.made, one.From); told != nil {
			return fromJSON(one, told, at.kind)
		}
		return at.before, nil
	}
	for other, wanted := range one.When {
		if pick(at.told, t.spec.Attributes[other].From) != wanted {
			return at.before, nil
		}
	}
	value, err := fromJSON(one, pick(at.told, one.From), at.kind)
	if err == nil && one.Time && isSet(at.before) && isSet(value) {
		if sameInstant((values{name: at.before}).text(name), (values{name: value}).text(name)) {
			return at.before, nil
		}
	}
	return value, err
}

// settle sends what differs between what is there and what is wanted, call by call, and tells whether anything did.
func (t *thing) settle(ctx context.Context, there, plan, config values) (bool, error) {
	changed := false
	for _, call := range t.spec.Updates {
		fields := t.differing(call.Body, there, plan)
		if len(fields) == 0 {
			continue
		}
		changed = true
		body, err := t.changes(fields, plan, config)
		if err != nil {
			return changed, err
		}
		if call.Version {
			if body["version"], err = toJSON(t.spec.Attributes["version"], there["version"]); err != nil {
				return changed, err
			}
		}
		if err := t.send(ctx, call, there, body); err != nil {
			return changed, err
		}
	}
	for name, one := range t.spec.Attributes {
		if one.Flag == nil || !plan[name].IsKnown() || plan[name].Equal(there[name]) {
			continue
		}
		var yes bool
		if err := plan[name].As(&yes); err != nil {
			return changed, err
		}
		changed = true
		path := one.Flag.Off
		if yes {
			path = one.Flag.On
		}
		if _, err := t.client.change(ctx, "POST", fill(path, there, nil), nil); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// send makes one change. What makes a new thing, such as a release, has a key that follows from what was there before.
func (t *thing) send(ctx context.Context, call Call, there values, body map[string]any) error {
	path := fill(call.Path, there, nil)
	if call.Makes == "" {
		_, err := t.client.change(ctx, call.Method, path, body)
		return err
	}
	key, err := t.client.keyFor(false, t.name, path, body, there.text(call.Makes))
	if err != nil {
		return err
	}
	told, err := t.client.once(ctx, path, body, key)
	if err != nil {
		return err
	}
	_, err = t.client.change(ctx, "POST", fill(call.Activate, there, map[string]any{"answer": told.body}), nil)
	return err
}

// differing are the fields to send: those that are planned to be something else. Secrets go where their version says so.
func (t *thing) differing(body []string, there, plan values) []string {
	fields := []string{}
	secrets := !plan["secrets_version"].Equal(there["secrets_version"])
	for _, name := range body {
		one := t.spec.Attributes[name]
		if one.Secret {
			if secrets {
				fields = append(fields, name)
			}
			continue
		}
		skipped := t.spec.Create == nil && !isSet(plan[name]) && !isSet(there[name])
		if plan[name].IsKnown() && !skipped && !plan[name].Equal(there[name]) {
			fields = append(fields, name)
		}
	}
	return fields
}

// changes is the body of a change: null takes back what was set.
func (t *thing) changes(fields []string, plan, config values) (map[string]any, error) {
	body := map[string]any{}
	for _, name := range fields {
		one := t.spec.Attributes[name]
		value, err := toJSON(one, from(one, name, plan, config))
		if err != nil {
			return nil, err
		}
		body[one.Field] = value
	}
	return body, nil
}

// body is what makes it: what is not set is not sent.
func (t *thing) body(fields []string, plan, config values) (map[string]any, error) {
	all, err := t.changes(fields, plan, config)
	for field, value := range all {
		if value == nil {
			delete(all, field)
		}
	}
	return all, err
}

// from takes write-only values from the configuration: no plan has them.
func from(one *Attribute, name string, plan, config values) tftypes.Value {
	if one.hasSecret() {
		return config[name]
	}
	return plan[name]
}

func (t *thing) hasSecrets() bool {
	for _, one := range t.spec.Attributes {
		if one.hasSecret() {
			return true
		}
	}
	return false
}

// reset takes back those settings that were set here.
func (t *thing) reset(ctx context.Context, state values) error {
	for _, call := range t.spec.Updates {
		body := map[string]any{}
		for _, name := range call.Body {
			if isSet(state[name]) {
				body[t.spec.Attributes[name].Field] = nil
			}
		}
		if len(body) == 0 {
			continue
		}
		if _, err := t.client.change(ctx, call.Method, fill(call.Path, state, nil), body); err != nil {
			return err
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[a-z_.]+\}`)

// fill puts attributes, or else what was answered, into a path.
func fill(path string, known values, told map[string]any) string {
	return placeholder.ReplaceAllStringFunc(path, func(part string) string {
		name := part[1 : len(part)-1]
		if text, ok := pick(told, name).(string); ok {
			return url.PathEscape(text)
		}
		return url.PathEscape(known.text(name))
	})
}
