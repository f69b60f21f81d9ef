-- Where words of the server are shown: a float at the cursor, a read-only document, a terminal.
local M = {}

--- A float at the cursor; asked for again it is entered, `q` closes it.
---@param markdown string
function M.float(markdown)
  local lines = vim.split(vim.trim(markdown), "\n")
  local buffer, window = vim.lsp.util.open_floating_preview(lines, "markdown", {
    focus_id = "graphglue",
    border = "rounded",
    max_width = 100,
    max_height = math.max(10, math.floor(vim.o.lines * 0.6)),
  })
  vim.wo[window].linebreak = true
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, nowait = true })
end

-- The place that a link on this line leads to: [name](file:///folder/model.py#L23).  The one at the cursor, else the first.
---@return string|nil uri
---@return integer|nil line
local function link_at_cursor()
  local text, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2] + 1
  local first_uri, first_line
  for from, uri, line, to in text:gmatch("()%[[^%]]*%]%((file://[^)#]+)#L(%d+)%)()") do
    if from <= column and column < to then
      return uri, tonumber(line)
    end
    if first_uri == nil then
      first_uri, first_line = uri, tonumber(line)
    end
  end
  return first_uri, first_line
end

--- Goes to the window that shows a buffer, or to a new one.
---@param buffer integer
---@param where string|nil before :sbuffer
local function show(buffer, where)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd((where or "") .. " sbuffer " .. buffer)
  end
end

local function follow_link()
  local uri, line = link_at_cursor()
  if uri == nil then
    vim.notify("graphglue: no link on this line")
    return
  end
  local buffer = vim.uri_to_bufnr(uri)
  show(buffer, "aboveleft")
  vim.bo[buffer].buflisted = true
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(buffer)), 0 })
end

--- A read-only Markdown document in a window of its own; what was shown under this name before is replaced.
---@param name string
---@param markdown string
function M.document(name, markdown)
  local title = "graphglue://" .. name
  local buffer = vim.fn.bufnr("^" .. vim.fn.escape(title, "*?[]{}\\,") .. "$")
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, title)
    vim.bo[buffer].bufhidden = "wipe"
    vim.keymap.set("n", "<CR>", follow_link, { buffer = buffer, desc = "Go to the source" })
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(markdown, "\n"))
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  show(buffer)
  vim.bo[buffer].filetype = "markdown"
end

--- A program in a terminal that stays.
---@param command string[]
---@param folder string
---@param on_exit fun(code: integer)|nil
function M.terminal(command, folder, on_exit)
  vim.cmd("botright new")
  local given = {
    cwd = folder,
    on_exit = on_exit and vim.schedule_wrap(function(_, code)
      on_exit(code)
    end) or nil,
  }
  if vim.fn.has("nvim-0.11") == 1 then
    vim.fn.jobstart(command, vim.tbl_extend("force", given, { term = true }))
  else
    vim.fn.termopen(command, given)
  end
end

return M
