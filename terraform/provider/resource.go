// One resource, whichever it is: made, read, changed, ended and imported by the calls that its description names.
package provider

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type thing struct {
	name   string
	spec   *Resource
	client *Client
}

var (
	_ resource.ResourceWithConfigure      = &thing{}
	_ resource.ResourceWithImportState    = &thing{}
	_ resource.ResourceWithModifyPlan     = &thing{}
	_ resource.ResourceWithValidateConfig = &thing{}
)

func (t *thing) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + t.name
}

func (t *thing) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if client, ok := req.ProviderData.(*Client); ok {
		t.client = client
	}
}

// ModifyPlan keeps what does not change, and says what a change costs: nothing, another resource, or a refusal.
func (t *thing) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() {
		return
	}
	plan, state, config := attributesIn(req.Plan.Raw), attributesIn(req.State.Raw), attributesIn(req.Config.Raw)
	changes := false
	for name, one := range t.spec.Attributes {
		if !plan[name].IsKnown() && config[name].IsNull() && !one.Moving {
			plan[name] = state[name]
		}
		if one.Time && sameInstant(plan.text(name), state.text(name)) {
			plan[name] = state[name]
		}
		if plan[name].Equal(state[name]) {
			continue
		}
		changes = changes || !one.Moving
		// What the server never tells is not known of what was imported: then the configuration is believed.
		if one.Replace && !(one.From == "-" && state[name].IsNull() && state.text("idempotency_key") == "") {
			resp.RequiresReplace.Append(path.Root(name))
		}
		if one.Fixed && !state[name].IsNull() {
			resp.Diagnostics.AddAttributeError(path.Root(name), "This cannot be changed",
				fmt.Sprintf("A %s keeps its '%s' for good, and Terraform does not end it to make another. To have another, "+
					"take this one out of the state, or give the new one a resource of its own.", t.words(), name))
		}
	}
	for name, one := range t.spec.Attributes {
		if one.Moving && !changes {
			plan[name] = state[name]
		}
	}
	resp.Plan.Raw = tftypes.NewValue(req.Plan.Raw.Type(), map[string]tftypes.Value(plan))
}

func (t *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, config := attributesIn(req.Plan.Raw), attributesIn(req.Config.Raw)
	kind := req.Plan.Raw.Type()
	made := map[string]any{}
	if t.spec.Create != nil {
		var err error
		if made, err = t.make(ctx, plan, config, &resp.Diagnostics); err != nil {
			t.tell(err, &resp.Diagnostics)
			return
		}
	}
	now, gone, err := t.read(ctx, t.withMade(plan, made, kind), made, kind)
	if err == nil && gone {
		err = fmt.Errorf("the %s was made, and is gone already", t.words())
	}
	if err != nil {
		t.tell(err, &resp.Diagnostics)
		return
	}
	for name, one := range t.spec.Attributes {
		if one.Flag != nil && t.spec.Create != nil && !plan[name].IsKnown() { // what comes back is served again
			plan[name] = tftypes.NewValue(tftypes.Bool, false)
		}
	}
	resp.State.Raw = merged(kind, plan, now, false) // a step that fails below leaves it known, and marked as unfinished
	changed, err := t.settle(ctx, now, plan, config)
	if err == nil && changed {
		now, _, err = t.read(ctx, now, made, kind)
	}
	if err != nil {
		t.tell(err, &resp.Diagnostics)
		return
	}
	resp.State.Raw = merged(kind, plan, now, true)
}

func (t *thing) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	now, gone, err := t.read(ctx, attributesIn(req.State.Raw), nil, req.State.Raw.Type())
	if err != nil {
		t.tell(err, &resp.Diagnostics)
		return
	}
	if gone {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.State.Raw = tftypes.NewValue(req.State.Raw.Type(), map[string]tftypes.Value(now))
}

func (t *thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, state, config := attributesIn(req.Plan.Raw), attributesIn(req.State.Raw), attributesIn(req.Config.Raw)
	kind := req.Plan.Raw.Type()
	_, failed := t.settle(ctx, state, plan, config)
	now, gone, err := t.read(ctx, state, nil, kind)
	if failed != nil {
		t.tell(failed, &resp.Diagnostics)
		if err == nil && !gone { // some of it may have been done
			resp.State.Raw = tftypes.NewValue(kind, map[string]tftypes.Value(now))
		}
		return
	}
	if err == nil && gone {
		err = fmt.Errorf("the %s is gone: somebody ended it meanwhile", t.words())
	}
	if err != nil {
		t.tell(err, &resp.Diagnostics)
		return
	}
	resp.State.Raw = merged(kind, plan, now, true)
}

func (t *thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := attributesIn(req.State.Raw)
	if t.spec.Create != nil && t.client.isClaimed(t.called(state)) {
		resp.Diagnostics.AddWarning("Nothing was replaced", fmt.Sprintf("What took the place of the %s %s asks for the very same, "+
			"and was taken to be it: it stays. To have another, give it an `idempotency_key`.", t.words(), t.identity(state)))
		return
	}
	var err error
	switch {
	case t.spec.Delete != nil:
		_, err = t.client.change(ctx, t.spec.Delete.Method, fill(t.spec.Delete.Path, state, nil), nil)
	case t.spec.Reset:
		err = t.reset(ctx, state)
	}
	if err != nil && !hasStatus(err, 404) {
		t.tell(err, &resp.Diagnostics)
		return
	}
	if t.spec.Left != "" {
		resp.Diagnostics.AddWarning("Not all of it is gone", t.spec.Left)
	}
}

func (t *thing) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	parts := strings.SplitN(req.ID, "/", len(t.spec.Import))
	if len(parts) != len(t.spec.Import) || req.ID == "" {
		resp.Diagnostics.AddError("Not an id to import by", fmt.Sprintf("A %s is imported by %s, joined by '/'.", t.words(),
			strings.Join(t.spec.Import, " and ")))
		return
	}
	for index, name := range t.spec.Import {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), parts[index])...)
	}
}

func (t *thing) words() string { return strings.ReplaceAll(t.name, "_", " ") }

func (t *thing) identity(state values) string {
	parts := []string{}
	for _, name := range t.spec.Import {
		parts = append(parts, state.text(name))
	}
	return strings.Join(parts, "/")
}

func (t *thing) called(state values) string { return t.name + " " + t.identity(state) }

// merged is the state after a change: what was planned, and for what was not known then, what the server says. While it
// is not done, what the server says comes first.
func merged(kind tftypes.Type, plan, now values, done bool) tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, told := range now {
		all[name] = told
		if planned := plan[name]; planned.IsFullyKnown() && (done || told.IsNull()) {
			all[name] = planned
		}
	}
	return tftypes.NewValue(kind, all)
}

var taken = regexp.MustCompile(`must be (new|another one)`)

var named = regexp.MustCompile(`^([a-z_]+) |'([a-z_]+)`)

// tell says what went wrong, at the attribute that the server named.
func (t *thing) tell(err error, found *diag.Diagnostics) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		found.AddError("Switchyard did not do it", err.Error())
		return
	}
	detail := refusal.Error()
	isThere := refusal.Status == 409 || taken.MatchString(refusal.Message)
	if t.spec.Create != nil && isThere && refusal.Path == t.spec.Create.Path {
		detail += fmt.Sprintf("\n\nIf it is to be kept, bring it into the state: terraform import switchyard_%s.… <%s>", t.name,
			strings.Join(t.spec.Import, ">/<"))
	}
	if match := named.FindStringSubmatch(refusal.Message); match != nil {
		for name, one := range t.spec.Attributes {
			if one.Field == match[1]+match[2] && !one.ReadOnly {
				found.AddAttributeError(path.Root(name), "Switchyard refused this", detail)
				return
			}
		}
	}
	found.AddError("Switchyard refused this", detail)
}
