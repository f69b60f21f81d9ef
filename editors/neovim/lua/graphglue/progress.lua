-- What the server does and has to say, in the message line: Neovim shows no progress by itself, and an edit may be proved for a minute.
local M = {}

-- Done after every write, unasked: a status line tells of it.
local UNASKED = "graphglue: capturing"

local is_shown = false -- the message line has our words
---@type table<string, string> titles by client and token
local titles = {}

---@param words string
local function show(words)
  if vim.api.nvim_get_mode().mode:sub(1, 1) == "c" then -- somebody types there
    return
  end
  vim.api.nvim_echo({ { vim.fn.strcharpart(words, 0, vim.v.echospace) } }, false, {})
  is_shown = words ~= ""
end

--- As vim.notify, below one name.  Words should fit 67 columns: for more, Neovim waits for Enter, and shows nothing else till then.
---@param words string
---@param level integer|nil
function M.say(words, level)
  is_shown = false
  vim.notify("graphglue: " .. words, level or vim.log.levels.INFO)
end

--- A handler of $/progress, besides Neovim's own.
function M.on_progress(err, params, context, config)
  vim.lsp.handlers["$/progress"](err, params, context, config)
  local value, key = params.value or {}, context.client_id .. " " .. params.token
  if value.kind == "begin" and value.title ~= UNASKED then
    titles[key] = value.title
  end
  local title = titles[key]
  if not title then
    return
  elseif value.kind == "end" then
    titles[key] = nil
    if is_shown then
      show("")
    end
  else
    show(title .. (value.message and ": " .. value.message or " …"))
  end
end

--- A handler of window/showMessage: Neovim's own ends every line, so that one has to press Enter.
function M.on_message(_, params)
  local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
  M.say((params.message:gsub("^graphglue: ", "")), levels[params.type])
end

--- A handler of workspace/applyEdit, before Neovim's own: that one prints the label over what the server said of the edit.
function M.on_edit(err, params, context, config)
  params.label = nil
  return vim.lsp.handlers["workspace/applyEdit"](err, params, context, config)
end

return M
