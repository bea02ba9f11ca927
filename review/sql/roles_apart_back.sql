DROP TRIGGER roles_apart ON auth_user_groups;
DROP TRIGGER role_stays ON auth_group;
DROP TRIGGER role_not_removed ON auth_group;
DROP FUNCTION review_roles_apart();
DROP FUNCTION review_role_stays();
