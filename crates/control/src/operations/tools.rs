//! The catalog and calls.

use crate::problems::{Failure, Outcome};
use crate::views;
use hub::operate::{Checked, OperatorHandle, ToolView};
use operator::words::{CallResult, ToolCall, ToolDetail, ToolFilter, ToolList, ToolName};

/// The catalog, by server and name.
pub async fn list(hub: &OperatorHandle, filter: ToolFilter) -> Outcome<ToolList> {
    if let Some(server) = &filter.server {
        // So that a mistyped name is not an empty catalog.
        hub.server(server).await?;
    }
    let mut views = hub.tools(filter.server).await?;
    let written = tokio::task::spawn_blocking(move || {
        views.sort_by(|a, b| (&a.server, &a.name).cmp(&(&b.server, &b.name)));
        views.iter().map(views::tool).collect()
    });
    Ok(ToolList { tools: written.await.map_err(|_| unwritten())? })
}

/// One tool with its definition.
pub async fn show(hub: &OperatorHandle, asked: ToolName) -> Outcome<ToolDetail> {
    let tools = hub.tools(None).await?;
    let written = tokio::task::spawn_blocking(move || {
        let tool = find(&tools, &asked.name)?;
        views::tool_detail(tool).ok_or_else(|| Failure::new("internal", "the definition in the catalog is not JSON"))
    });
    written.await.map_err(|_| unwritten())?
}

/// What of a server's tools can't be checked, a sentence for each.
pub async fn findings(hub: &OperatorHandle, server: &str) -> Outcome<Vec<String>> {
    let tools = hub.tools(Some(server.to_owned())).await?;
    let said = |tool: &ToolView| {
        let Checked { unusable, skipped } = tool.checked();
        match (unusable, &skipped[..]) {
            (Some(why), _) => Some(format!("tool `{}` can't be called: {why}", tool.own_name)),
            (None, []) => None,
            (None, all) => {
                let patterns = all.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ");
                let (own, what) = (&tool.own_name, if all.len() == 1 { "pattern" } else { "patterns" });
                Some(format!("tool `{own}` is partly checked and asks at least: not checked {what} {patterns}"))
            }
        }
    };
    let written = tokio::task::spawn_blocking(move || tools.iter().filter_map(said).collect());
    written.await.map_err(|_| unwritten())
}

fn unwritten() -> Failure {
    Failure::new("internal", "the catalog could not be written out")
}

/// A call by a person.
pub async fn call(hub: &OperatorHandle, call: ToolCall) -> Outcome<CallResult> {
    let arguments = call.arguments.as_ref().map_or("{}", |arguments| arguments.get());
    let view = hub.call(&call.name, arguments).await?;
    views::call(&view).ok_or_else(|| Failure::new("internal", "the answer of the call is not JSON"))
}

/// By exposed name, else by a server's own name where exactly one server has it: as a call resolves.
fn find<'a>(tools: &'a [ToolView], name: &str) -> Outcome<&'a ToolView> {
    if let Some(tool) = tools.iter().find(|tool| tool.name == name) {
        return Ok(tool);
    }
    let own: Vec<&ToolView> = tools.iter().filter(|tool| tool.own_name == name).collect();
    match own[..] {
        [] => Err(Failure::new("unknown_tool", format!("there is no tool `{name}`")).next("callgate tool list")),
        [tool] => Ok(tool),
        _ => {
            let names: Vec<&str> = own.iter().map(|tool| tool.name.as_str()).collect();
            Err(Failure::new("ambiguous_tool", format!("several servers have it: {}", names.join(", "))))
        }
    }
}
